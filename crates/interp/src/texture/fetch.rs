//! Fetches: from the operands of `tex` and `tld4` to a place in a texture, and from the texels to the results.

use oriole_machine_model::texture::Layout;

use super::sample::{self, Outside, Place, nearest_half};
use crate::context::LaneContext;
use crate::fault::Fault;
use crate::step::{Fetch, Level, Results, Source, Space};

impl Fetch {
    /// Executes it.
    pub(super) fn execute(&self, at: &mut LaneContext) -> Result<(), Fault> {
        let handle = self.texture.read(at)?;
        let sampler = match &self.sampler {
            Some(sampler) => {
                let handle = sampler.read(at)?;
                Some(at.machine.objects.sampler(handle)?)
            }
            None => None,
        };
        let words: Vec<u32> = self.coordinates.iter().map(|&source| at.read(source) as u32).collect();
        let offsets: Vec<i32> = self.offsets.iter().map(|&source| nibble(at.read(source))).collect();
        let single = |at: &LaneContext, source: Source| f32::from_bits(at.read(source) as u32);
        let mut leading = words.iter().copied();
        let sample = if self.space.sampled { leading.next().unwrap_or(0) } else { 0 };
        // Only the lower half of a layer index counts, and larger ones are clamped.
        let layer = if self.space.layered { leading.next().unwrap_or(0).min(0xffff) } else { 0 };
        let words: Vec<u32> = leading.take(self.space.dimensions).collect();
        let level = match &self.level {
            Level::Base => f64::NEG_INFINITY,
            Level::Given(source) if self.integers => f64::from(at.read(*source) as i32),
            Level::Given(source) => f64::from(single(at, *source)),
            Level::Gradients(x, y) => {
                let lists = [x, y].map(|list| list.iter().map(|&source| single(at, source)).collect());
                let texture = at.machine.objects.texture(handle)?;
                let normalized = !self.integers && sampler.unwrap_or(texture.sampler).normalized;
                let direction: Option<Vec<f32>> =
                    self.space.cube.then(|| words.iter().map(|&w| f32::from_bits(w)).collect());
                match direction {
                    Some(direction) => sample::level_on_cube(texture, &direction, &lists),
                    None => sample::level_of(texture, normalized, &lists),
                }
            }
        };
        let texture = at.machine.objects.texture(handle)?;
        let place = Place {
            layer,
            level: sample::nearest_level(texture, level),
            offsets: &offsets,
            cube: self.space.cube,
        };
        // A layout that does not fit the instruction reads as zeros.
        let layout = match self.space {
            Space { cube: true, .. } => Some(Layout::Cube),
            Space { dimensions: 1, layered: false, .. } if !self.by_sampler => Some(Layout::Linear),
            _ => None,
        };
        let found = if layout.is_some_and(|layout| texture.layout != layout) {
            [0; 4]
        } else if !self.by_sampler {
            let coordinates: Vec<i64> = words.iter().map(|&word| i64::from(word as i32)).collect();
            let outside = if matches!(self.level, Level::Base) { Outside::Nothing } else { Outside::Edge };
            // A missing level reads as zeros; one from derivatives is clamped.
            let is_there = match self.level {
                Level::Given(_) => (0.0..f64::from(texture.levels)).contains(&level),
                Level::Base | Level::Gradients(..) => true,
            };
            if is_there { sample::integer(texture, &coordinates, &place, sample, outside) } else { [0; 4] }
        } else {
            let number = |&word: &u32| if self.integers { word as i32 as f32 } else { f32::from_bits(word) };
            let coordinates: Vec<f32> = words.iter().map(number).collect();
            let sampler = sampler.unwrap_or(texture.sampler);
            match self.gathered {
                Some(channel) => sample::gather(texture, &sampler, &coordinates, &place, channel),
                None => sample::read(texture, &sampler, &coordinates, &place),
            }
        };
        self.write(at, found);
        Ok(())
    }

    fn write(&self, at: &mut LaneContext, found: [u32; 4]) {
        let halves = found.map(nearest_half);
        for (index, destination) in self.destinations.iter().enumerate() {
            let value = match self.results {
                Results::Words => u64::from(found[index]),
                Results::Halves => halves[index],
                Results::HalfPairs => halves[2 * index] | halves[2 * index + 1] << 16,
            };
            at.write(*destination, value);
        }
        if let Some(resident) = self.resident {
            at.write(resident, 1);
        }
    }
}

/// A sign-extended 4-bit offset.
fn nibble(value: u64) -> i32 {
    (value as i32) << 28 >> 28
}
