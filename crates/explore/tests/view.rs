//! The model of the page, and that no text of a file becomes markup.

use crate::support::view;
use expect_test::expect;
use oriole_explore::{FileView, page};
use serde_json::{Value, json};

const SUM: &str = "\
.version 8.0
.target sm_90
.address_size 64
// </script><img src=x>
.visible .entry sum(.param .u64 p) .reqntid 64
{
  .reg .b32 %r<4>; // </script><script>alert(1)</script>
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  ld.global.u32 %r1, [%a];
  ld.global.u32 %r2, [%a+4];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%a], %r3;
  ret;
}
.visible .entry _Z4zeroPi(.param .u64 p)
{
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 0;
  ret;
}
";

/// The contents for each kernel, in short.
fn told(view: &FileView) -> Value {
    let kernels = view.kernels.iter().map(|kernel| {
        let rows = kernel.code.rows.iter().zip(&kernel.notes).map(|(row, note)| {
            let issue = row.issue.expect("a table");
            let line = note.line.map_or("-".to_owned(), |line| line.to_string());
            format!("{:04x} line {line} cycle {} waited {} live {}: {}", row.address, issue.cycle, issue.waited, row.pressure.general, row.text)
        });
        let phase = |snapshot: &oriole_ide::OriSnapshot| {
            let phase = snapshot.phase.map_or("raw".to_owned(), |(number, name)| format!("{number} {name}"));
            let from = |line: &oriole_ide::OriLine| Some(format!("{}: {}", line.source? + 1, line.text.trim()));
            (phase, snapshot.lines.iter().filter_map(from).collect::<Vec<_>>())
        };
        let history: Vec<_> = kernel.history.iter().map(phase).collect();
        let mut steps = vec![(1, kernel.curve[0])];
        for (at, pair) in kernel.curve.windows(2).enumerate() {
            if pair[0] != pair[1] {
                steps.push((at + 2, pair[1]));
            }
        }
        json!({
            "name": kernel.name, "source": kernel.source_name,
            "registers": kernel.needs.registers, "threads": kernel.needs.threads.0,
            "text from line": kernel.text.iter().map(|part| (part.first_line, part.lines.len())).collect::<Vec<_>>(),
            "phases": history.iter().map(|(phase, lines)| format!("{phase}: {} lines", lines.len())).collect::<Vec<_>>(),
            "raw": history[0].1, "code": rows.collect::<Vec<_>>(),
            "warps from so many registers": steps,
        })
    });
    json!({ "chip": view.chip.to_string(), "kernels": kernels.collect::<Vec<_>>() })
}

#[test]
fn what_is_told_of_small_kernels() {
    let view = view(SUM, &[]).expect("it compiles");
    expect![[r#"
        {
          "chip": "sm_90",
          "kernels": [
            {
              "code": [
                "0000 line 9 cycle 0 waited 0 live 2: LDC.64 R2, c[0x0][0x210]",
                "0010 line 10 cycle 1 waited 0 live 2: ULDC.64 UR4, c[0x0][0x208]",
                "0020 line 10 cycle 28 waited 25 live 3: LDG.E R0, desc[UR4][R2.64]",
                "0030 line 11 cycle 29 waited 0 live 4: LDG.E R4, desc[UR4][R2.64+0x4]",
                "0040 line 12 cycle 289 waited 258 live 4: IADD3 R0, R0, R4, RZ",
                "0050 line 13 cycle 294 waited 0 live 3: STG.E desc[UR4][R2.64], R0",
                "0060 line 14 cycle 295 waited 0 live 0: EXIT"
              ],
              "name": "sum",
              "phases": [
                "raw: 7 lines",
                "74 ConvertToUniformReg: 7 lines"
              ],
              "raw": [
                "10: {u0 u1} = ULDC.64 c[0][0x208] ; 1",
                "9: {r2 r3} = LDC.64 c[0][0x210] ; 0",
                "10: r4 = LDG.E desc{u0 u1}[{r2 r3}].64 mem(global r) ; 1",
                "11: r5 = LDG.E desc{u0 u1}[{r2 r3}+0x4].64 mem(global r) ; 2",
                "12: r6 = IADD3 r4, r5, RZ ; 3",
                "13: STG.E desc{u0 u1}[{r2 r3}].64, r6 mem(global w) ; 4",
                "14: EXIT ; 5"
              ],
              "registers": 7,
              "source": null,
              "text from line": [
                [
                  4,
                  12
                ]
              ],
              "threads": 64,
              "warps from so many registers": [
                [
                  1,
                  64
                ],
                [
                  33,
                  48
                ],
                [
                  41,
                  40
                ],
                [
                  49,
                  36
                ],
                [
                  57,
                  32
                ],
                [
                  65,
                  28
                ],
                [
                  73,
                  24
                ],
                [
                  81,
                  20
                ],
                [
                  97,
                  16
                ],
                [
                  129,
                  12
                ],
                [
                  169,
                  8
                ]
              ]
            },
            {
              "code": [
                "0000 line 19 cycle 0 waited 0 live 2: LDC.64 R2, c[0x0][0x210]",
                "0010 line 20 cycle 1 waited 0 live 2: ULDC.64 UR4, c[0x0][0x208]",
                "0020 line 20 cycle 28 waited 25 live 2: STG.E desc[UR4][R2.64], RZ",
                "0030 line 21 cycle 29 waited 0 live 0: EXIT"
              ],
              "name": "_Z4zeroPi",
              "phases": [
                "raw: 4 lines",
                "74 ConvertToUniformReg: 4 lines"
              ],
              "raw": [
                "20: {u0 u1} = ULDC.64 c[0][0x208] ; 1",
                "19: {r2 r3} = LDC.64 c[0][0x210] ; 0",
                "20: STG.E desc{u0 u1}[{r2 r3}].64, RZ mem(global w) ; 1",
                "21: EXIT ; 2"
              ],
              "registers": 6,
              "source": "zero(int*)",
              "text from line": [
                [
                  16,
                  7
                ]
              ],
              "threads": 256,
              "warps from so many registers": [
                [
                  1,
                  64
                ],
                [
                  33,
                  48
                ],
                [
                  41,
                  40
                ],
                [
                  49,
                  32
                ],
                [
                  65,
                  24
                ],
                [
                  81,
                  16
                ],
                [
                  129,
                  8
                ]
              ]
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&told(&view)).expect("a value"));
}

/// Only the kernels that are selected by their symbols; an unknown symbol selects none.
#[test]
fn kernels_are_chosen_by_their_symbols() {
    let names = |only: &[&str]| {
        let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
        let kernels = view(SUM, &only).expect("it compiles").kernels;
        kernels.into_iter().map(|kernel| kernel.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["_Z4zeroPi"]), ["_Z4zeroPi"]);
    assert_eq!(names(&["_Z4zeroPi", "sum"]), ["sum", "_Z4zeroPi"]);
    assert_eq!(names(&["zer"]), [""; 0]);
}

#[test]
fn a_broken_text_has_no_page() {
    assert!(view(&SUM.replace("%r3, %r1", "%r9, %r1"), &[]).is_err());
}

/// The text of the file is on the page, and none of its tags becomes markup.
#[test]
fn text_is_no_markup() {
    let page = page(&view(SUM, &[]).expect("it compiles"));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"), "the comment is shown");
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    // Each script of the page ends where it should: the tags are paired, those of the two histories and the page's own.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (3, 3));
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded");
}

/// The size of a page grows linearly with its kernel.
#[test]
fn the_page_is_linear_in_the_kernel() {
    let text = |count: usize| {
        let adds = "  mad.lo.u32 %r3, %r1, %r2, %r3;\n  xor.b32 %r1, %r3, %r2;\n".repeat(count);
        SUM.replace("  st.global.u32 [%a], %r3;\n", &format!("{adds}  st.global.u32 [%a], %r3;\n"))
    };
    let size = |count| page(&view(&text(count), &["sum".to_owned()]).expect("it compiles")).len();
    let (none, few, many) = (size(0), size(100), size(400));
    assert!(many - none < 5 * (few - none), "{none}, {few} and {many} bytes");
}
