//! `--message-format` of every command that prints diagnostics, and `--color`.

use crate::inputs::oriole_in;
use crate::support::{Finished, data, finish, oriole, scratch, text};
use expect_test::expect;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const TEXT: &str = "\
.version 6.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    redux.sync.add.s32 %r1, %r2, 0xffffffff;
    mov.u32 %r9, 1;
    ret;
}
";

fn folder() -> tempfile::TempDir {
    let folder = scratch();
    std::fs::write(folder.path().join("a b.ptx"), TEXT).expect("a file");
    folder
}

#[test]
fn checks_in_every_format() {
    let folder = folder();
    let check = |format: &str| {
        let done = oriole_in(folder.path(), &["check", "a b.ptx", "--message-format", format]);
        assert_eq!(done.status, Some(1));
        (done.out, done.err)
    };
    let (out, err) = check("short");
    assert_eq!(out, "");
    expect![[r#"
        a b.ptx:2:9: error[target::needs-version]: `sm_90` needs `.version` 7.8 or later, the module has 6.0
        a b.ptx:7:5: error[target::needs-version]: `redux.sync.add.s32` needs `.version` 7.0 or later; the module has 6.0
        a b.ptx:8:13: error[ptx::unknown-name]: no register is called `%r9`
        3 errors; 2 can be fixed with --fix
    "#]].assert_eq(&err);
    let (out, err) = check("github");
    assert_eq!(err, "");
    expect![[r#"
        ::error file=a b.ptx,line=2,endLine=2,col=9,endColumn=14,title=target%3A%3Aneeds-version::`sm_90` needs `.version` 7.8 or later, the module has 6.0
        ::error file=a b.ptx,line=7,endLine=7,col=5,endColumn=23,title=target%3A%3Aneeds-version::`redux.sync.add.s32` needs `.version` 7.0 or later; the module has 6.0
        ::error file=a b.ptx,line=8,endLine=8,col=13,endColumn=16,title=ptx%3A%3Aunknown-name::no register is called `%25r9`%0Ahelp: the range ends with `%25r3`
    "#]].assert_eq(&out);
    let (out, err) = check("json");
    assert_eq!(err, "");
    let first: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    expect![[r#"
        {
          "code": "target::needs-version",
          "column": 9,
          "file": "a b.ptx",
          "fixes": [
            {
              "edits": [
                {
                  "span": {
                    "len": 3,
                    "start": 9
                  },
                  "text": "7.8"
                }
              ],
              "safe": true,
              "title": "Raise `.version` to 7.8"
            }
          ],
          "help": [],
          "line": 2,
          "message": "`sm_90` needs `.version` 7.8 or later, the module has 6.0",
          "parts": [
            {
              "source": "sm_90"
            },
            {
              "text": " needs "
            },
            {
              "source": ".version"
            },
            {
              "text": " 7.8 or later, the module has 6.0"
            }
          ],
          "related": [],
          "severity": "error",
          "span": {
            "len": 5,
            "start": 21
          }
        }
    "#]]
    .assert_eq(&format!("{first:#}\n"));
    let (out, err) = check("sarif");
    assert_eq!(err, "");
    let mut log: Value = serde_json::from_str(&out).expect("JSON");
    // The pages of codes are not part of the format.
    for rule in log["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules") {
        assert!(rule["fullDescription"]["text"].as_str().is_some_and(|page| page.len() > 40));
        for field in ["shortDescription", "fullDescription", "help"] {
            rule[field] = "...".into();
        }
    }
    log["runs"][0]["tool"]["driver"]["version"] = "...".into();
    log["runs"][0]["tool"]["driver"]["semanticVersion"] = "...".into();
    expect![[r#"
        {
          "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
          "runs": [
            {
              "columnKind": "unicodeCodePoints",
              "invocations": [
                {
                  "executionSuccessful": true,
                  "toolExecutionNotifications": []
                }
              ],
              "results": [
                {
                  "fixes": [
                    {
                      "artifactChanges": [
                        {
                          "artifactLocation": {
                            "uri": "a%20b.ptx"
                          },
                          "replacements": [
                            {
                              "deletedRegion": {
                                "endColumn": 13,
                                "endLine": 1,
                                "startColumn": 10,
                                "startLine": 1
                              },
                              "insertedContent": {
                                "text": "7.8"
                              }
                            }
                          ]
                        }
                      ],
                      "description": {
                        "text": "Raise `.version` to 7.8"
                      }
                    }
                  ],
                  "level": "error",
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "a%20b.ptx"
                        },
                        "region": {
                          "endColumn": 14,
                          "endLine": 2,
                          "startColumn": 9,
                          "startLine": 2
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "`sm_90` needs `.version` 7.8 or later, the module has 6.0"
                  },
                  "ruleId": "target::needs-version",
                  "ruleIndex": 1
                },
                {
                  "fixes": [
                    {
                      "artifactChanges": [
                        {
                          "artifactLocation": {
                            "uri": "a%20b.ptx"
                          },
                          "replacements": [
                            {
                              "deletedRegion": {
                                "endColumn": 13,
                                "endLine": 1,
                                "startColumn": 10,
                                "startLine": 1
                              },
                              "insertedContent": {
                                "text": "7.0"
                              }
                            }
                          ]
                        }
                      ],
                      "description": {
                        "text": "Raise `.version` to 7.0"
                      }
                    }
                  ],
                  "level": "error",
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "a%20b.ptx"
                        },
                        "region": {
                          "endColumn": 23,
                          "endLine": 7,
                          "startColumn": 5,
                          "startLine": 7
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "`redux.sync.add.s32` needs `.version` 7.0 or later; the module has 6.0"
                  },
                  "ruleId": "target::needs-version",
                  "ruleIndex": 1
                },
                {
                  "fixes": [
                    {
                      "artifactChanges": [
                        {
                          "artifactLocation": {
                            "uri": "a%20b.ptx"
                          },
                          "replacements": [
                            {
                              "deletedRegion": {
                                "endColumn": 19,
                                "endLine": 6,
                                "startColumn": 18,
                                "startLine": 6
                              },
                              "insertedContent": {
                                "text": "10"
                              }
                            }
                          ]
                        }
                      ],
                      "description": {
                        "text": "Make it `%r<10>`"
                      }
                    },
                    {
                      "artifactChanges": [
                        {
                          "artifactLocation": {
                            "uri": "a%20b.ptx"
                          },
                          "replacements": [
                            {
                              "deletedRegion": {
                                "endColumn": 2,
                                "endLine": 5,
                                "startColumn": 2,
                                "startLine": 5
                              },
                              "insertedContent": {
                                "text": "\n    .reg .u32 %r9;"
                              }
                            }
                          ]
                        }
                      ],
                      "description": {
                        "text": "Declare `.reg .u32 %r9;`"
                      }
                    }
                  ],
                  "level": "error",
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "a%20b.ptx"
                        },
                        "region": {
                          "endColumn": 16,
                          "endLine": 8,
                          "startColumn": 13,
                          "startLine": 8
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "no register is called `%r9`\nhelp: the range ends with `%r3`"
                  },
                  "ruleId": "ptx::unknown-name",
                  "ruleIndex": 0
                }
              ],
              "tool": {
                "driver": {
                  "informationUri": "https://github.com/oriole-compiler/oriole",
                  "name": "oriole",
                  "rules": [
                    {
                      "defaultConfiguration": {
                        "level": "error"
                      },
                      "fullDescription": "...",
                      "help": "...",
                      "id": "ptx::unknown-name",
                      "shortDescription": "..."
                    },
                    {
                      "defaultConfiguration": {
                        "level": "error"
                      },
                      "fullDescription": "...",
                      "help": "...",
                      "id": "target::needs-version",
                      "shortDescription": "..."
                    }
                  ],
                  "semanticVersion": "...",
                  "version": "..."
                }
              }
            }
          ],
          "version": "2.1.0"
        }
    "#]]
    .assert_eq(&format!("{log:#}\n"));
}

/// A file that cannot be read is in the log: the run was not complete.
#[test]
fn logs_tell_of_failures() {
    let folder = scratch();
    let done = oriole_in(folder.path(), &["check", "nowhere.ptx", "--message-format", "sarif"]);
    assert_eq!(done.status, Some(1));
    let log: Value = serde_json::from_str(&done.out).expect("JSON");
    let told = &log["runs"][0]["invocations"][0];
    assert_eq!(told["executionSuccessful"], Value::Bool(false));
    assert!(
        told["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("nowhere.ptx"))
    );
    assert_eq!(log["runs"][0]["results"], Value::Array(Vec::new()));
}

/// Commands whose output is something else print their diagnostics on standard error, in any format.
#[test]
fn other_commands_have_the_formats_too() {
    let folder = folder();
    for command in
        [&["compile", "a b.ptx", "-o", "-"][..], &["ori", "a b.ptx", "--after", "0"], &["view", "a b.ptx"]]
    {
        let done = oriole_in(folder.path(), &[command, &["--message-format", "github"]].concat());
        assert_eq!((done.status, done.out.as_str()), (Some(1), ""), "{command:?}");
        assert!(done.err.contains("::error file=a b.ptx,line=7,endLine=7,col=5,"), "{}", done.err);
        let done = oriole_in(folder.path(), &[command, &["--message-format", "sarif"]].concat());
        let log: Value = serde_json::from_str(&done.err).expect("JSON");
        assert_eq!(log["version"], "2.1.0");
    }
    let done = oriole_in(folder.path(), &["watch", ".", "--message-format", "sarif"]);
    assert_eq!(done.status, Some(2));
    assert_eq!(oriole(&["check", "x.ptx", "--message-format", "xml"]).status, Some(2));
}

fn of_checks(name: &str, format: &str) -> Finished {
    let record = text(&data("checks").join(format!("{name}.json")));
    oriole(&["run", &record, "--on", "interp", "--check=all", "--message-format", format])
}

/// Findings of a run are results at lines of the PTX, with the source and the other instruction next to them.
#[test]
fn findings_of_a_run_are_results() {
    let done = of_checks("sum_of_block", "sarif");
    assert_eq!(done.status, Some(1));
    let log: Value = serde_json::from_str(&done.out).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let race = results.iter().find(|result| result["ruleId"] == "check::race").expect("a race");
    let place = |of: &Value| {
        let uri = of["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap_or_default();
        let name = Path::new(uri).file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{name}:{}", of["physicalLocation"]["region"]["startLine"])
    };
    assert_eq!(place(&race["locations"][0]), "sum_of_block.ptx:18");
    let related: Vec<String> =
        race["relatedLocations"].as_array().expect("places").iter().map(place).collect();
    assert_eq!(related, ["sum_of_block.cu:9", "sum_of_block.ptx:26", "sum_of_block.cu:14"]);
    assert!(done.err.contains("sum_of_block: ran, nothing to compare with"), "{}", done.err);
    let done = of_checks("sum_of_block", "github");
    assert!(done.out.contains(",line=18,endLine=18,title=check%3A%3Arace::"), "{}", done.out);
    let record = text(&data("checks").join("sum_of_block.json"));
    let both = ["run", &record, "--on", "interp", "--check=all", "--json", "--message-format", "sarif"];
    assert_eq!(oriole(&both).status, Some(2));
    let ptx = text(&data("checks").join("sum_of_block.ptx"));
    let done = oriole(&["verify", &ptx, "--check=races", "--message-format", "short"]);
    assert!(done.err.contains("sum_of_block.ptx:18: error[check::race]: "), "{}{}", done.out, done.err);
}

/// Hazards have the address of their instruction.
#[test]
fn hazards_are_results() {
    let folder = scratch();
    let cubin = folder.path().join("k.cubin");
    let input = data("kernels").join("reduce.ptx");
    let bytes = crate::support::compile(&input, &cubin, &[]).expect("it compiles");
    let lint = |format: &str| oriole(&["lint", &text(&cubin), "--message-format", format]);
    let done = lint("sarif");
    let log: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((done.status, &log["runs"][0]["results"]), (Some(0), &Value::Array(Vec::new())));
    std::fs::write(&cubin, hasty(&bytes)).expect("a file");
    let done = lint("sarif");
    let log: Value = serde_json::from_str(&done.out).expect("JSON");
    let first = &log["runs"][0]["results"][0];
    assert_eq!((done.status, &first["ruleId"]), (Some(1), &"oriole::hazard".into()));
    let place = &first["locations"][0];
    assert!(place["physicalLocation"]["address"]["relativeAddress"].is_u64(), "{place}");
    assert!(place["logicalLocations"][0]["name"].is_string(), "{place}");
    let done = lint("github");
    assert!(done.out.starts_with("::error file="), "{}", done.out);
    let done = lint("json");
    let line: Value = serde_json::from_str(done.out.lines().next().expect("a line")).expect("JSON");
    assert!(line["pc"].is_u64() && line["other"].is_u64() && line["code"] == "oriole::hazard", "{line}");
    assert_eq!(oriole(&["lint", &text(&cubin), "--json", "--message-format", "json"]).status, Some(2));
}

/// Code of which every instruction stalls one cycle.
fn hasty(bytes: &[u8]) -> Vec<u8> {
    let read = oriole_cubin::read(bytes).expect("a cubin");
    let code = &read.kernels[0].code;
    let raw = |code: &[u128]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let quick: Vec<u128> = code.iter().map(|word| word & !(0xf << 105) | 1 << 105).collect();
    let (old, new) = (raw(code), raw(&quick));
    let start = bytes.windows(old.len()).position(|window| window == old).expect("the code");
    let mut bytes = bytes.to_vec();
    bytes[start..start + new.len()].copy_from_slice(&new);
    bytes
}

/// `--color` decides before the environment, NO_COLOR before CLICOLOR_FORCE; help and differences follow, too.
#[test]
fn colours_are_decided_in_one_way() {
    let folder = folder();
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        let done = finish(command.args(arguments).envs(variables.iter().copied()).current_dir(folder.path()));
        done.out.contains('\x1b') || done.err.contains('\x1b')
    };
    for command in [
        &["check", "a b.ptx"][..],
        &["compile", "a b.ptx"],
        &["check", "--diff", "a b.ptx"],
        &["fmt", "--diff", "--indent", "2", "a b.ptx"],
        &["check"],
        &["check", "--help"],
    ] {
        let with = |colour: &[&str], variables: &[(&str, &str)]| run(&[command, colour].concat(), variables);
        assert!(!with(&[], &[]), "{command:?}: no terminal");
        assert!(with(&[], &[("CLICOLOR_FORCE", "1")]), "{command:?}: forced");
        assert!(!with(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "{command:?}: both");
        assert!(with(&["--color", "always"], &[("NO_COLOR", "1")]), "{command:?}: always");
        assert!(!with(&["--color=never"], &[("CLICOLOR_FORCE", "1")]), "{command:?}: never");
    }
    assert_eq!(oriole(&["check", "x.ptx", "--color", "pink"]).status, Some(2));
}
