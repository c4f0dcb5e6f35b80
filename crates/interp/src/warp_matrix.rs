//! Instructions on matrices, which a whole warp executes: from the registers of its lanes to those of the results.

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::lane::{Lane, SpecialValues};
use crate::machine::{BlockState, Machine};
use crate::matrix;
use crate::step::{Action, Location, MatrixOperation, MatrixStep, SharePlace};
use crate::warp::Warp;
use crate::warp_group;

impl Warp {
    /// Executes an instruction on matrices. Lanes that have exited, or never existed, take part with zeros.
    pub(crate) fn matrix(
        &mut self,
        together: u32,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
    ) -> Result<(), Fault> {
        let code = machine.code;
        let steps: [Option<&MatrixStep>; 32] = std::array::from_fn(|lane| {
            let lane = self.lanes.get(lane).filter(|_| together >> lane & 1 != 0)?;
            match &code.steps[lane.pc as usize].action {
                Action::Matrix(step) => Some(&**step),
                _ => None,
            }
        });
        let registers = |lanes: &[Lane], operand: usize| -> matrix::Registers {
            std::array::from_fn(|lane| {
                let sources = steps[lane].map_or(&[][..], |step| &step.sources[operand]);
                sources.iter().map(|source| lanes[lane].read(*source, lane as u32, specials)).collect()
            })
        };
        let Some(step) = steps.iter().flatten().next() else { return Ok(()) };
        let results = match &step.operation {
            MatrixOperation::Tensor(operation) => {
                let operands = (0..step.sources.len()).map(|at| registers(&self.lanes, at)).collect();
                match self.tensor(operation, operands, together, machine, block, specials)? {
                    Some(results) => results,
                    None => return Ok(()),
                }
            }
            MatrixOperation::Product(product) => {
                let [a, b, c] = [0, 1, 2].map(|operand| registers(&self.lanes, operand));
                let metadata = product.sparsity.map(|_| registers(&self.lanes, 3)).unwrap_or_default();
                let first = 3 + usize::from(product.sparsity.is_some());
                let scales: [matrix::Registers; 4] = std::array::from_fn(|index| {
                    product.scaling.map(|_| registers(&self.lanes, first + index)).unwrap_or_default()
                });
                product.evaluate(&machine.matrix_unit, [&a, &b, &c, &metadata], scales.each_ref())
            }
            MatrixOperation::Quarters(quarters) => {
                let [a, b, c] = [0, 1, 2].map(|operand| registers(&self.lanes, operand));
                quarters.evaluate(&a, &b, &c)
            }
            MatrixOperation::Tiled(tiled) => {
                let [a, b, c] = [0, 1, 2].map(|operand| registers(&self.lanes, operand));
                tiled.evaluate(&machine.matrix_unit, &a, &b, &c)
            }
            MatrixOperation::LoadShare(from) => {
                let strides = registers(&self.lanes, 0);
                self.share(machine, block, specials, from, &strides, None)?
            }
            MatrixOperation::StoreShare(to) => {
                let [values, strides] = [0, 1].map(|operand| registers(&self.lanes, operand));
                self.share(machine, block, specials, to, &strides, Some(&values))?;
                return Ok(());
            }
            MatrixOperation::GroupFence => return Ok(()),
            MatrixOperation::GroupCommit => {
                self.products.commit();
                return Ok(());
            }
            MatrixOperation::GroupWait(left) => {
                let shared = &machine.shared[block.rank as usize];
                let waited = self.products.wait(*left, &self.lanes, shared, &mut machine.watch);
                return waited.map_err(|fault| self.locate(machine, fault, block));
            }
            MatrixOperation::GroupProduct(product) => {
                if self.products.feed(product, step, &self.lanes) {
                    let text = "operand A is in registers that a matrix multiply in flight has yet to write";
                    return Err(self.locate(machine, Fault::new(FaultKind::Illegal, text), block));
                }
                let operands = std::array::from_fn(|operand| registers(&self.lanes, operand));
                let issued = warp_group::issue(
                    product,
                    self.index,
                    &machine.matrix_unit,
                    operands,
                    &machine.shared[block.rank as usize],
                );
                let (results, reading) = issued.map_err(|fault| self.locate(machine, fault, block))?;
                machine.watch.product(&reading, false);
                if machine.followed {
                    let lane = together.trailing_zeros() as usize;
                    self.show_pieces(machine, block, lane, reading.iter().map(|(address, _)| *address));
                }
                self.products.begin(product, step, reading, &self.lanes);
                results
            }
            MatrixOperation::Transpose => matrix::transpose(&registers(&self.lanes, 0)),
            MatrixOperation::Load { row, way, packed } => {
                let count = step.destinations.len() / way.registers() * way.rows();
                let rows = self.rows(machine, block, specials, row, count, None)?;
                let rows: Vec<matrix::Row> = rows.into_iter().map(|row| packed.spread(row)).collect();
                matrix::spread(&rows, *way)
            }
            MatrixOperation::Store { row, way } => {
                let values = registers(&self.lanes, 0);
                let rows = matrix::collect(&values, *way);
                self.rows(machine, block, specials, row, rows.len(), Some(&rows))?;
                return Ok(());
            }
        };
        for (lane, step) in steps.iter().enumerate() {
            let Some(step) = step else { continue };
            // A fragment in more registers than it fills repeats itself.
            for (destination, value) in step.destinations.iter().zip(results[lane].iter().cycle()) {
                self.lanes[lane].write(*destination, *value);
            }
        }
        Ok(())
    }

    /// Reads the registers of a fragment, or writes the given ones. Each lane accesses its part at its own address of
    /// the matrix.
    fn share(
        &mut self,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
        at: &SharePlace,
        strides: &matrix::Registers,
        written: Option<&matrix::Registers>,
    ) -> Result<matrix::Registers, Fault> {
        let mut read: matrix::Registers = Default::default();
        for lane in 0..self.lanes.len() {
            let pc = self.lanes[lane].pc;
            let stride = strides[lane].first().copied();
            let mut context = LaneContext {
                lane: &mut self.lanes[lane],
                number: lane as u32,
                machine: &mut *machine,
                block: &mut *block,
                specials,
            };
            let done = match written {
                None => context.load_share(at, stride).map(|registers| read[lane] = registers),
                Some(values) => context.store_share(at, stride, &values[lane]),
            };
            done.map_err(|fault| machine.locate(fault, pc, block, &self.lanes[lane]))?;
        }
        Ok(read)
    }

    /// Reads the rows of small matrices, or writes the given ones: row `r` of matrix `m` is at the address of lane
    /// `8 m + r`.
    fn rows(
        &mut self,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
        row: &Location,
        count: usize,
        written: Option<&[matrix::Row]>,
    ) -> Result<Vec<matrix::Row>, Fault> {
        let mut rows = vec![[0; matrix::ROW_BYTES]; count];
        for (lane, bytes) in rows.iter_mut().enumerate().take(self.lanes.len()) {
            let pc = self.lanes[lane].pc;
            let mut context = LaneContext {
                lane: &mut self.lanes[lane],
                number: lane as u32,
                machine: &mut *machine,
                block: &mut *block,
                specials,
            };
            let address = context.address(row);
            let memory = context.used(row.place, address, matrix::ROW_BYTES, written.is_some());
            match (memory, written) {
                (Ok(memory), None) => bytes.copy_from_slice(memory),
                (Ok(memory), Some(written)) => memory.copy_from_slice(&written[lane]),
                (Err(fault), _) => return Err(machine.locate(fault, pc, block, &self.lanes[lane])),
            }
        }
        Ok(rows)
    }
}
