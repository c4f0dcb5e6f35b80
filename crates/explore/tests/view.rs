//! The model of the page, and that no text of a file becomes markup.

use crate::support::{code, cubin, question, view, view_of};
use expect_test::expect;
use oriole_explore::{FileView, Heat, Question, Source, ViewError, code_part, index, page, source_names};
use oriole_ide::Analysis;
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
fn told((view, analysis): &(FileView, Analysis)) -> Value {
    let kernels = (0..view.kernels.len()).map(|number| {
        let kernel = view.kernel(analysis, number).expect("nothing cancels").expect("it has code");
        let needs = kernel.needs.as_ref().expect("it was compiled");
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
        let history = view.history(analysis, number).expect("nothing cancels").expect("it has Ori");
        let history: Vec<_> = history.iter().map(phase).collect();
        let mut steps = vec![(1, kernel.curve[0])];
        for (at, pair) in kernel.curve.windows(2).enumerate() {
            if pair[0] != pair[1] {
                steps.push((at + 2, pair[1]));
            }
        }
        json!({
            "name": kernel.entry.name, "source": kernel.entry.source_name,
            "registers": needs.registers, "threads": needs.threads.0,
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
        let kernels = view(SUM, &only).expect("it compiles").0.kernels;
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

fn written(text: &str, only: &[String]) -> String {
    let (view, analysis) = view(text, only).expect("it compiles");
    let (one, two) = (page(&view, &analysis, 1), page(&view, &analysis, 2));
    let pages = [one, two].map(|page| page.expect("nothing cancels").expect("it has code"));
    assert_eq!(pages[0], pages[1], "the number of threads makes no difference");
    let [page, _] = pages;
    page
}

/// The data of a page, whose every line but the first and the last is an element.
fn data(page: &str) -> Vec<Value> {
    let start = page.find("type=\"application/json\">").expect("data") + "type=\"application/json\">".len();
    let text = &page[start..start + page[start..].find("</script>").expect("its end")];
    let elements = text.lines().skip(1).filter(|line| *line != "]");
    let elements: Vec<Value> = elements
        .map(|line| serde_json::from_str(line.strip_suffix(',').unwrap_or(line)).expect("an element a line"))
        .collect();
    assert_eq!(serde_json::from_str::<Vec<Value>>(text).expect("JSON"), elements);
    elements
}

/// Texts from their forms and numbers.
fn expanded(texts: &Value) -> Vec<String> {
    let mut numbers = texts["numbers"].as_array().expect("numbers").iter();
    let text = |form: &Value| {
        let stretches =
            texts["forms"][form.as_u64().expect("an index") as usize].as_array().expect("stretches");
        let mut text = stretches[0].as_str().expect("a text").to_owned();
        for stretch in &stretches[1..] {
            text += &numbers.next().expect("a number").to_string();
            text += stretch.as_str().expect("a text");
        }
        text
    };
    texts["of"].as_array().expect("forms").iter().map(text).collect()
}

/// The text of the file is on the page, and none of its tags becomes markup.
#[test]
fn text_is_no_markup() {
    let page = written(SUM, &[]);
    assert!(page.contains("\\u003c/script>\\u003cscript>alert("), "the comment is there");
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    // Each script of the page ends where it should: the data and the page's own.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    let own = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!own.contains("http://") && !own.contains("https://"), "nothing is loaded");
}

/// The columns of a kernel have an element for each line and each row, and give the texts back.
#[test]
fn columns_hold_each_row_once() {
    let elements = data(&written(SUM, &[]));
    assert_eq!(elements.len(), 1 + 2 * 2, "the file, then code and phases of two kernels");
    assert_eq!(elements[0]["kernels"], json!([["sum", null], ["_Z4zeroPi", "zero(int*)"]]));
    let code = &elements[1];
    let strings = expanded(&code["strings"]);
    let text = |id: &Value| strings[id.as_u64().expect("an index") as usize].as_str();
    let column = |name: &str| code["sass"][name].as_array().expect("a column").clone();
    let rows: Vec<String> = column("texts")
        .iter()
        .zip(column("lines"))
        .zip(column("boards"))
        .map(|((words, line), boards)| format!("{line}: {} {}", text(words), text(&boards)))
        .collect();
    expect![[r#"
        9: LDC.64 R2, c[0x0][0x210] w0
        10: ULDC.64 UR4, c[0x0][0x208] 
        10: LDG.E R0, desc[UR4][R2.64] ?0 w2
        11: LDG.E R4, desc[UR4][R2.64+0x4] w2
        12: IADD3 R0, R0, R4, RZ ?2
        13: STG.E desc[UR4][R2.64], R0 
        14: EXIT "#]]
    .assert_eq(&rows.join("\n"));
    let lines = code["text"]["texts"].as_array().expect("a column");
    let lines: Vec<&str> = lines.iter().map(text).collect();
    assert_eq!(lines.join("\n"), SUM.lines().skip(3).take(12).collect::<Vec<_>>().join("\n"));
    let styles: Vec<&str> = code["text"]["styles"].as_array().expect("a column").iter().map(text).collect();
    assert_eq!(styles[3], "x2d4x9n1x3c37", "`  .reg .b32 %r<4>; // ...`");
}

/// The size of a page grows linearly with its kernel.
#[test]
fn the_page_is_linear_in_the_kernel() {
    let text = |count: usize| {
        let adds = "  mad.lo.u32 %r3, %r1, %r2, %r3;\n  xor.b32 %r1, %r3, %r2;\n".repeat(count);
        SUM.replace("  st.global.u32 [%a], %r3;\n", &format!("{adds}  st.global.u32 [%a], %r3;\n"))
    };
    let size = |count| written(&text(count), &["sum".to_owned()]).len();
    let (none, few, many) = (size(0), size(100), size(400));
    assert!(many - none < 5 * (few - none), "{none}, {few} and {many} bytes");
}

const WITH_SOURCE: &str = ".version 8.0
.target sm_90
.address_size 64
.file 1 \"a.cu\"
.visible .entry put(.param .u64 p)
{
  .reg .b64 %a;
  .loc 1 7 3
  ld.param.u64 %a, [p];
  .loc 1 8 3
  st.global.u32 [%a], 0;
  ret;
}
";

/// Lines of the source go with those of the PTX, and with rows of the code.
#[test]
fn lines_of_the_source() {
    let lines = vec!["int x;".to_owned(); 9];
    let sources = source_names(WITH_SOURCE).into_iter();
    let sources = sources.map(|(number, name)| (number, Source { name, lines: lines.clone() })).collect();
    let (view, analysis) = view_of(WITH_SOURCE, Question { sources, ..question() }).expect("it compiles");
    let about: Value = serde_json::from_str(&index(&view)).expect("JSON");
    assert_eq!(
        (&about["sources"][0][1], about["sources"][0][2].as_array().map(Vec::len)),
        (&json!("a.cu"), Some(9))
    );
    let code = code_part(&view, &analysis, 0).expect("nothing cancels").expect("it has code");
    let code: Value = serde_json::from_str(&code).expect("JSON");
    assert_eq!(code["text"]["places"], json!([0, 0, 0, 7, 7, 8, 8, 8, 8]));
    assert_eq!(
        (&code["sass"]["lines"], &code["sass"]["places"]),
        (&json!([9, 11, 11, 12]), &json!([7, 8, 8, 8]))
    );
}

/// A cubin alone has its code and nothing that only a compile knows.
#[test]
fn a_cubin_alone() {
    let view = FileView::of_cubin(&cubin(SUM), question(), &mut |_| Vec::new()).expect("a cubin");
    assert!(!view.has_text());
    let none = oriole_ide::AnalysisHost::new().analysis();
    let kernel = view.kernel(&none, 0).expect("nothing cancels").expect("it has code");
    assert!(kernel.needs.is_none() && kernel.text.is_empty() && kernel.code.rows.len() > 3);
    assert!(view.history(&none, 0).expect("nothing cancels").expect("none is needed").is_empty());
    assert!(matches!(view.kernel(&none, 2), Ok(Err(ViewError::NoKernel(2)))));
    let page = page(&view, &none, 1).expect("nothing cancels").expect("it has code");
    assert_eq!(data(&page).len(), 5);
    assert!(matches!(FileView::of_cubin(b"no", question(), &mut |_| Vec::new()), Err(ViewError::Code(_))));
}

/// Another code is next to the kernel of its name, its rows next to those that are like them.
#[test]
fn another_code_is_aligned() {
    let changed = SUM.replace("add.u32 %r3, %r1, %r2;", "add.u32 %r3, %r1, 5;\n  st.global.u32 [%a+8], %r1;");
    let other = Some(("theirs".to_owned(), code(&changed)));
    let (view, analysis) = view_of(SUM, Question { other, ..question() }).expect("it compiles");
    let kernel = view.kernel(&analysis, 0).expect("nothing cancels").expect("it has code");
    let (theirs, pairs) = kernel.other.expect("it has one");
    let text = |rows: &[oriole_explore::Row], at: Option<usize>| {
        at.map_or("-".to_owned(), |at| rows[at].text.clone())
    };
    let lines: Vec<String> = pairs
        .iter()
        .map(|pair| {
            format!(
                "{} | {} | {}",
                pair.change.name(),
                text(&kernel.code.rows, pair.rows[0]),
                text(&theirs.rows, pair.rows[1])
            )
        })
        .collect();
    expect![[r#"
        same | LDC.64 R2, c[0x0][0x210] | LDC.64 R2, c[0x0][0x210]
        same | ULDC.64 UR4, c[0x0][0x208] | ULDC.64 UR4, c[0x0][0x208]
        same | LDG.E R0, desc[UR4][R2.64] | LDG.E R0, desc[UR4][R2.64]
        removed | LDG.E R4, desc[UR4][R2.64+0x4] | -
        changed | IADD3 R0, R0, R4, RZ | IADD3 R4, R0, 0x5, RZ
        added | - | STG.E desc[UR4][R2.64+0x8], R0
        same | STG.E desc[UR4][R2.64], R0 | STG.E desc[UR4][R2.64], R4
        same | EXIT | EXIT"#]]
    .assert_eq(&lines.join("\n"));
}

/// The heat of a launch is that of its kernel only.
#[test]
fn heat_of_a_launch() {
    let rows = vec![Heat { issued: 4, waited: 90, why: "memory 90".to_owned() }; 7];
    let launch = Some(("l.json".to_owned(), "sum".to_owned(), rows));
    let (view, analysis) = view_of(SUM, Question { launch, ..question() }).expect("it compiles");
    let code = |number| -> Value {
        let part = code_part(&view, &analysis, number).expect("nothing cancels").expect("it has code");
        serde_json::from_str(&part).expect("JSON")
    };
    assert_eq!(code(0)["heat"]["waited"], json!([90, 90, 90, 90, 90, 90, 90]));
    assert_eq!(code(1)["heat"], Value::Null);
}
