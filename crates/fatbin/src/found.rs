//! The images and the damages that were found in a file so far, with bounds on their numbers. No format may enter.

use crate::image::Image;
use crate::{Fault, FaultKind};

/// Most images of a file.
const MOST_IMAGES: usize = 1 << 18;

/// Most damages that are reported.
const MOST_FAULTS: usize = 100;

/// The images and faults so far, with bounds on their numbers.
#[derive(Default)]
pub struct Found {
    images: Vec<Image>,
    faults: Vec<Fault>,
}

impl Found {
    /// Whether no more images are taken.
    pub fn is_full(&self) -> bool {
        self.images.len() > MOST_IMAGES
    }

    pub fn image(&mut self, image: Image) {
        self.images.push(image);
    }

    pub fn fault(&mut self, offset: u64, kind: FaultKind) {
        match self.faults.len() {
            count if count < MOST_FAULTS => self.faults.push(Fault { offset, kind }),
            MOST_FAULTS => self.faults.push(Fault { offset, kind: FaultKind::TooDamaged }),
            _ => {}
        }
    }

    /// Whether there is neither.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty() && self.faults.is_empty()
    }

    /// The images and the faults; images beyond the bound are one fault.
    pub fn bounded(self) -> (Vec<Image>, Vec<Fault>) {
        let Found { mut images, mut faults } = self;
        if images.len() > MOST_IMAGES {
            let offset = images[MOST_IMAGES].offset;
            images.truncate(MOST_IMAGES);
            faults.push(Fault { offset, kind: FaultKind::TooMany(MOST_IMAGES) });
        }
        (images, faults)
    }
}
