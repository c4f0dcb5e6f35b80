//! Worker threads: some for urgent requests, some for compiles, one for background work, one for runs of kernels.
//!
//! They differ by name, and on Linux by priority: where there are few CPUs, compiles yield to answers to a keystroke.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Sender, unbounded};

type Task = Box<dyn FnOnce() + Send>;

/// The workers. They end when the pool is dropped and their tasks are done.
pub(crate) struct Pool {
    urgent: Option<Sender<Task>>,
    building: Option<Sender<Task>>,
    patient: Option<Sender<Task>>,
    running: Option<Sender<Task>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Pool {
    /// `count` threads for urgent tasks, as many for compiles, one for background work, and one for runs.
    pub fn new(count: usize) -> Pool {
        let (urgent_sender, urgent_receiver) = unbounded::<Task>();
        let (building_sender, building_receiver) = unbounded::<Task>();
        let (patient_sender, patient_receiver) = unbounded::<Task>();
        let (running_sender, running_receiver) = unbounded::<Task>();
        let mut threads = Vec::new();
        let mut start = |name: &str, nice: i32, receiver: crossbeam_channel::Receiver<Task>| {
            let run = move || {
                step_back(nice);
                for task in receiver {
                    // A task handles its own panics; one that escapes must not end the worker.
                    let _ = catch_unwind(AssertUnwindSafe(task));
                }
            };
            // Parsing and formatting recurse with the nesting of the text, which is bounded.
            threads.extend(std::thread::Builder::new().name(name.to_owned()).stack_size(16 << 20).spawn(run));
        };
        for _ in 0..count.max(1) {
            start("lsp-urgent", 0, urgent_receiver.clone());
            start("lsp-building", 2, building_receiver.clone());
        }
        start("lsp-patient", 10, patient_receiver);
        start("lsp-running", 10, running_receiver);
        Pool {
            urgent: Some(urgent_sender),
            building: Some(building_sender),
            patient: Some(patient_sender),
            running: Some(running_sender),
            threads,
        }
    }

    /// Runs an urgent task.
    pub fn urgent(&self, task: impl FnOnce() + Send + 'static) {
        if let Some(sender) = &self.urgent {
            let _ = sender.send(Box::new(task));
        }
    }

    /// Runs a task that compiles, or waits for a compile.
    pub fn building(&self, task: impl FnOnce() + Send + 'static) {
        if let Some(sender) = &self.building {
            let _ = sender.send(Box::new(task));
        }
    }

    /// Runs a background task when the others of its kind are done.
    pub fn patient(&self, task: impl FnOnce() + Send + 'static) {
        if let Some(sender) = &self.patient {
            let _ = sender.send(Box::new(task));
        }
    }

    /// Runs a task that runs kernels, which takes seconds: background work does not wait for it.
    pub fn running(&self, task: impl FnOnce() + Send + 'static) {
        if let Some(sender) = &self.running {
            let _ = sender.send(Box::new(task));
        }
    }
}

/// Raises the nice value of this thread by this amount; where the system refuses, it stays unchanged.
fn step_back(nice: i32) {
    #[cfg(target_os = "linux")]
    if nice > 0 {
        // To Linux a thread is a process of its own here.
        let thread = rustix::thread::gettid();
        if let Ok(now) = rustix::process::getpriority_process(Some(thread)) {
            let _ = rustix::process::setpriority_process(Some(thread), now + nice);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}

impl Drop for Pool {
    fn drop(&mut self) {
        (self.urgent, self.building, self.patient, self.running) = (None, None, None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
