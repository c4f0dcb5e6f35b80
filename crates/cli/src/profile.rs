//! `oriole profile`: why a kernel is slow, in words. The code comes from a text that is compiled here or from a cubin; what is
//! wrong with it is `oriole-profile`'s.

mod code;
mod record;

use crate::arguments::{PlacesBy, Profile};
use crate::files::device::{self, Asked, Wanted};
use crate::files::output::Output;
use crate::launch::{self, Launch};
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::session;
use code::Source;
use oriole_explore::{ProfileError, ProfileOptions, ProfiledImage};
use oriole_profile::{By, Shown};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs the command.
pub fn profile(arguments: &Profile) -> Outcome {
    let (chip, options) = match session::options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let target = code::Compile { chip, options, arch: arguments.target.arch.clone() };
    let asked = Asked { image: arguments.which.image.as_deref(), ..target.asked() };
    let first = match Source::of(&arguments.input, asked) {
        Ok(source) => source,
        Err(error) => return error.report(),
    };
    let (path, source) = match (&arguments.launches, first) {
        (None, Source::Records) => (&arguments.input, None),
        (None, Source::Text(text)) => {
            return misused(record::missing(&target.compiled(&arguments.input, &text)));
        }
        (None, Source::Cubin(bytes)) => {
            return misused(record::missing(&target.read(&arguments.input, &bytes)));
        }
        (Some(_), Source::Records) => {
            return misused("the first file is a launch record; give PTX or a cubin");
        }
        (Some(path), source) => (path, Some(source)),
    };
    let launches = match launch::read(path) {
        Ok(launches) => launches,
        Err(message) => return misused(message),
    };
    if launches.len() > 1 && arguments.html.is_some() {
        return misused(format!("a page is about one launch; {} has {}", path.display(), launches.len()));
    }
    let mut images: BTreeMap<PathBuf, Result<ProfiledImage, String>> = BTreeMap::new();
    let mut outcome = Outcome::Right;
    for launch in &launches {
        let file = match (&source, &launch.ptx) {
            (Some(_), _) => arguments.input.clone(),
            (None, Some(ptx)) => ptx.path.clone().unwrap_or_else(|| PathBuf::from(&launch.name)),
            (None, None) => PathBuf::from(&launch.name),
        };
        let image = images.entry(file.clone()).or_insert_with(|| match (&source, &launch.ptx) {
            (Some(Source::Text(text)), _) => target.compiled_or(&file, text, arguments.cubin.as_deref()),
            (Some(Source::Cubin(bytes)), _) => target.read(&file, bytes),
            (_, Some(ptx)) => target.compiled_or(&file, &ptx.text, arguments.cubin.as_deref()),
            (_, None) => match &arguments.cubin {
                Some(path) => {
                    let image = device::image(path, Wanted::Cubin, target.asked());
                    let image = image.map_err(|error| error.to_string());
                    image.and_then(|image| target.read(path, &image.bytes))
                }
                None => Err("the launch gives no PTX, and there is no PTX file and no cubin".to_owned()),
            },
        });
        let done = image.as_ref().map_err(Clone::clone).and_then(|image| one(image, launch, arguments));
        if let Err(message) = done {
            outcome = failed(format!("{}: {message}", launch.name));
        }
    }
    outcome
}

/// The profile of a launch.
fn one(image: &ProfiledImage, launch: &Launch, arguments: &Profile) -> Result<(), String> {
    let defaults = oriole_simulate::Options::default();
    let options = oriole_simulate::Options {
        step_limit: arguments.step_limit.unwrap_or(defaults.step_limit),
        check_hazards: false,
        ..defaults
    };
    let asked = ProfileOptions {
        blocks: arguments.blocks,
        cold: arguments.cold,
        sample: arguments.sample,
        by: arguments.by.map(|by| match by {
            PlacesBy::Ptx => By::Ptx,
            PlacesBy::Source => By::Source,
            PlacesBy::Sass => By::Sass,
        }),
    };
    let found = image.profile(&launch.for_simulator(options), asked, &|| false);
    let found = found.map_err(|error| match (&error, arguments.by) {
        (ProfileError::By(_), Some(PlacesBy::Ptx)) => format!("--by ptx: {error}"),
        (ProfileError::By(_), _) => format!("--by source: {error}"),
        _ => error.to_string(),
    })?;
    let code = image.code(&launch.entry).map_err(|error| error.to_string())?;
    if arguments.json {
        print(&format!("{}\n", oriole_profile::document(&found, code, &launch.name)));
    } else {
        let shown = Shown { name: &launch.name, lines: arguments.lines };
        print(&names::explained(&oriole_profile::text(&found, code, shown)));
    }
    if let Some(path) = &arguments.html {
        let output = Output::new(path, &arguments.input).map_err(|error| error.to_string())?;
        let page = oriole_profile::page(&found, code, &launch.name);
        output.write(page.as_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(())
}
