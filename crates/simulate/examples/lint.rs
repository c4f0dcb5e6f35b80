//! Prints the scheduling hazards of cubins: `lint FILE...`. The last line sums up.

fn main() {
    let (mut words, mut hazards, mut files) = (0, 0, 0);
    for path in std::env::args().skip(1) {
        let cubin = std::fs::read(&path).map_err(|error| error.to_string());
        let cubin = cubin.and_then(|bytes| oriole_cubin::read(&bytes).map_err(|error| error.to_string()));
        match cubin {
            Ok(cubin) => {
                files += 1;
                words += cubin.kernels.iter().map(|kernel| kernel.code.len()).sum::<usize>();
                let found = oriole_simulate::lint(&cubin);
                hazards += found.len();
                for hazard in found {
                    println!("{path}: {hazard}");
                }
            }
            Err(error) => println!("{path}: {error}"),
        }
    }
    println!("{files} files, {words} words, {hazards} hazards");
}
