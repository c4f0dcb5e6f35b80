//! `#[query]`: a function becomes a salsa query, and each execution is logged under the function's own name.
//!
//! It is a crate of its own because attribute macros must be. It knows the parameter names of queries and nothing of their
//! results.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a function a query: `#[salsa::tracked]` with the same arguments, and a body that first notes its execution.
///
/// The place in the log follows from the names of the parameters: `unit`, `file`, `config` and `chip`, the first alone or with
/// `config`. A query with other keys says `at = PLACE`, an expression.
#[proc_macro_attribute]
pub fn query(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand(arguments, item) {
        Ok(expanded) => expanded,
        Err(message) => {
            format!("compile_error!({message:?});").parse().expect("a call of a macro with a literal parses")
        }
    }
}

fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, &'static str> {
    let (salsa, at) = split(arguments);
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let of_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let start = tokens.iter().position(of_fn).ok_or("#[query] is for functions")?;
    let Some(TokenTree::Ident(name)) = tokens.get(start + 1) else { return Err("the function has no name") };
    let name = name.to_string();
    let parameters = tokens[start..].iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(names(group.stream())),
        _ => None,
    });
    let [db, keys @ ..] = &parameters.unwrap_or_default()[..] else {
        return Err("a query takes the database first");
    };
    let place = match at {
        Some(place) => place,
        None => place_of(keys)?.parse().map_err(|_| "the place does not parse")?,
    };
    let Some(TokenTree::Group(body)) = tokens.pop() else { return Err("the function has no body") };
    let mut noted: TokenStream =
        format!("let _running = {db}.executes({name:?}, __PLACE__);").parse().map_err(|_| "no statement")?;
    noted = noted.into_iter().map(|token| with_place(token, &place)).collect();
    noted.extend(body.stream());
    let mut whole = Group::new(Delimiter::Brace, noted);
    whole.set_span(body.span());
    tokens.push(TokenTree::Group(whole));
    let tracked: TokenStream = "salsa::tracked".parse().map_err(|_| "no path")?;
    let tracked = tracked.into_iter().chain([TokenTree::Group(Group::new(Delimiter::Parenthesis, salsa))]);
    let attribute = Group::new(Delimiter::Bracket, tracked.collect());
    let attribute = [TokenTree::Punct(Punct::new('#', Spacing::Alone)), TokenTree::Group(attribute)];
    Ok(attribute.into_iter().chain(tokens).collect())
}

/// Puts the place into the call that notes an execution.
fn with_place(token: TokenTree, place: &TokenStream) -> TokenTree {
    let TokenTree::Group(call) = &token else { return token };
    let arguments = call.stream().into_iter().flat_map(|argument| match &argument {
        TokenTree::Ident(word) if word.to_string() == "__PLACE__" => place.clone(),
        _ => TokenStream::from(argument),
    });
    TokenTree::Group(Group::new(call.delimiter(), arguments.collect()))
}

/// The arguments for salsa, and the place that is given by `at`.
fn split(arguments: TokenStream) -> (TokenStream, Option<TokenStream>) {
    let (mut salsa, mut at) = (Vec::new(), None);
    let mut parts = vec![Vec::new()];
    for token in arguments {
        match &token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => parts.push(Vec::new()),
            _ => parts.last_mut().expect("there is always a last part").push(token),
        }
    }
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match &part[0] {
            TokenTree::Ident(word) if word.to_string() == "at" => {
                at = Some(part.into_iter().skip(2).collect())
            }
            _ => {
                salsa.extend(part);
                salsa.push(TokenTree::Punct(Punct::new(',', Spacing::Alone)));
            }
        }
    }
    (salsa.into_iter().collect(), at)
}

/// The names of parameters: each is the word before a colon that does not belong to a path.
fn names(parameters: TokenStream) -> Vec<Ident> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut first = true;
    for token in parameters {
        match token {
            TokenTree::Ident(word) if first => {
                found.push(Ident::new(&word.to_string(), Span::call_site()));
                first = false;
            }
            TokenTree::Punct(mark) => match mark.as_char() {
                '<' => depth += 1,
                '>' => depth -= 1,
                ',' if depth == 0 => first = true,
                _ => {}
            },
            _ => {}
        }
    }
    found
}

fn place_of(keys: &[Ident]) -> Result<String, &'static str> {
    let keys: Vec<String> = keys.iter().map(Ident::to_string).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let variant = match keys[..] {
        ["unit"] => "Unit",
        ["file"] => "File",
        ["config"] => "Config",
        ["chip"] => "Chip",
        ["unit", "config"] => "UnitConfig",
        ["file", "config"] => "FileConfig",
        _ => return Err("the parameters do not name a place: give one with `at = ...`"),
    };
    Ok(format!("oriole_inputs::Place::{variant}({})", keys.join(", ")))
}
