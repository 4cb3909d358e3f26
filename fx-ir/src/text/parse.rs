//! A graph from text: each statement becomes its node as it is read, so a value is known once it is written.

use std::collections::HashMap;
use std::str::FromStr;

use super::cursor::{Cursor, ParseError, Parsed};
use super::parse_op::{HOST, parse_host, parse_name, parse_op, parse_origin};
use super::parse_type::parse_type;
use crate::edit::Spot;
use crate::{Arg, Graph, Meta, MetaValue, Node, NodeId, Op, RegionId, Type};

impl FromStr for Graph {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Graph, ParseError> {
        let (cursor, graph) = (Cursor::new(text), Graph::new(""));
        let mut parser = Parser { cursor, graph, values: HashMap::new(), unnamed: Vec::new() };
        parser.graph()?;
        for (id, base) in parser.unnamed {
            parser.graph.rename(id, &base);
        }
        Ok(parser.graph)
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    graph: Graph,
    /// Every value so far by its name. Names are unique in a graph, so regions need no scopes; `lint` checks those.
    values: HashMap<String, NodeId>,
    /// The nodes that the text gives no name, and what to call them once every name in the text is taken.
    unnamed: Vec<(NodeId, String)>,
}

/// The positional and the named arguments of a statement.
type Items = (Vec<Arg>, Vec<(String, Arg)>);

impl Parser<'_> {
    fn graph(&mut self) -> Parsed<()> {
        self.cursor.lines();
        self.cursor.expect("graph")?;
        self.graph.name = self.cursor.word("the name of the graph")?;
        let body = self.graph.body();
        self.cursor.expect("(")?;
        self.params(body)?;
        self.block(body)?;
        self.cursor.separator();
        if self.cursor.rest().is_empty() { Ok(()) } else { Err(self.cursor.expected("the end of the text")) }
    }

    /// Parameters up to the closing parenthesis.
    fn params(&mut self, region: RegionId) -> Parsed<()> {
        let mut count = 0;
        while self.cursor.next_item(")", count)? {
            count += 1;
            let start = self.cursor.at;
            let Some(name) = parse_name(&mut self.cursor)? else {
                return Err(self.cursor.expected("a parameter or `)`"));
            };
            let ty = self.ty()?;
            let origin = parse_origin(&mut self.cursor)?;
            self.claim(&name, start)?;
            let meta = self.meta()?;
            let id = self.graph.add_named_param(region, name.clone(), ty, origin);
            self.graph.node_mut(id).meta = meta;
            self.values.insert(name, id);
        }
        Ok(())
    }

    fn block(&mut self, region: RegionId) -> Parsed<()> {
        self.cursor.lines();
        self.cursor.expect("{")?;
        self.cursor.separator();
        while !self.cursor.eat("}") {
            if self.cursor.rest().is_empty() {
                return Err(self.cursor.expected("a statement or `}`"));
            }
            self.statement(region)?;
            if !self.cursor.separator() && !self.cursor.rest().starts_with('}') {
                return Err(self.cursor.expected("`;`, `}` or the end of the line"));
            }
        }
        Ok(())
    }

    fn statement(&mut self, region: RegionId) -> Parsed<()> {
        self.cursor.space();
        let start = self.cursor.at;
        let name = parse_name(&mut self.cursor)?.filter(|_| self.cursor.eat("="));
        match &name {
            Some(name) => self.claim(name, start)?,
            None => self.cursor.at = start,
        }
        let (op, (args, kwargs), base) = self.action(region)?;
        let ty = self.ty()?;
        let origin = parse_origin(&mut self.cursor)?;
        let meta = self.meta()?;
        let name_or_none = name.clone().unwrap_or_default();
        let node = Node { op, args, kwargs, regions: Vec::new(), ty, name: name_or_none, origin, meta };
        let id = self.graph.create_node(node);
        self.graph.place(id, Spot::End(region));
        self.regions(id)?;
        match name {
            Some(name) => drop(self.values.insert(name, id)),
            None => self.unnamed.push((id, base)),
        }
        Ok(())
    }

    /// The op and its arguments, and the name of a node that is given none.
    fn action(&mut self, region: RegionId) -> Parsed<(Op, Items, String)> {
        if self.cursor.eat("yield") {
            let base = if region == self.graph.body() { "output" } else { "yield" }.to_owned();
            return Ok((Op::Yield, self.yielded()?, base));
        }
        let (head, base) = parse_op(&mut self.cursor)?;
        let mut items = (Vec::new(), Vec::new());
        if self.cursor.eat("(") {
            while self.cursor.next_item(")", items.0.len() + items.1.len())? {
                self.item(&mut items)?;
            }
        }
        let op = head.op(items.0.len());
        Ok((op, items, base))
    }

    fn yielded(&mut self) -> Parsed<Items> {
        let mut items = (Vec::new(), Vec::new());
        self.cursor.space();
        if !self.cursor.rest().is_empty() && !self.cursor.rest().starts_with(['\n', ';', '}', ':', '@', '$']) {
            self.item(&mut items)?;
            while self.cursor.eat(",") {
                self.item(&mut items)?;
            }
        }
        Ok(items)
    }

    fn item(&mut self, items: &mut Items) -> Parsed<()> {
        let before = self.cursor.at;
        let key = self.key().filter(|_| self.cursor.eat("="));
        if let Some(key) = key {
            let arg = self.arg()?;
            items.1.push((key, arg));
            return Ok(());
        }
        self.cursor.at = before;
        let arg = self.arg()?;
        items.0.push(arg);
        Ok(())
    }

    fn key(&mut self) -> Option<String> {
        self.cursor.space();
        if self.cursor.rest().starts_with('"') {
            return self.cursor.string().ok();
        }
        self.cursor.ident().map(str::to_owned)
    }

    fn arg(&mut self) -> Parsed<Arg> {
        self.cursor.space();
        let start = self.cursor.at;
        match self.cursor.rest().chars().next() {
            Some('"') => return self.cursor.string().map(Arg::Str),
            Some('`') => return self.cursor.quoted('`').map(Arg::Path),
            Some('[') => return self.list_arg(),
            Some(c) if c == '-' || c.is_ascii_digit() => return self.number_arg(),
            _ => {}
        }
        if self.cursor.rest().starts_with(HOST) {
            return self.expr_arg();
        }
        if let Some(name) = parse_name(&mut self.cursor)? {
            let value = self.values.get(&name).copied();
            let unknown = || self.cursor.error_at(start, format!("`{name}` is not defined before this"));
            return value.map(Arg::Node).ok_or_else(unknown);
        }
        let words = [("true", Arg::Bool(true)), ("false", Arg::Bool(false)), ("none", Arg::None)];
        let floats = [("inf", Arg::Float(f64::INFINITY)), ("nan", Arg::Float(f64::NAN))];
        let found = words.into_iter().chain(floats).find(|(word, _)| self.cursor.eat(word));
        found.map(|(_, arg)| arg).ok_or_else(|| self.cursor.expected("an argument"))
    }

    /// A host operation on arguments.
    fn expr_arg(&mut self) -> Parsed<Arg> {
        let word = self.cursor.word("a host operation")?;
        let host = parse_host(&mut self.cursor, &word[HOST.len()..])?;
        self.cursor.expect("(")?;
        let mut args = Vec::new();
        while self.cursor.next_item(")", args.len())? {
            args.push(self.arg()?);
        }
        Ok(host.op.of(args))
    }

    fn list_arg(&mut self) -> Parsed<Arg> {
        self.cursor.expect("[")?;
        let mut items = Vec::new();
        while self.cursor.next_item("]", items.len())? {
            items.push(self.arg()?);
        }
        Ok(Arg::List(items))
    }

    fn number_arg(&mut self) -> Parsed<Arg> {
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        let in_number = |(at, c): (usize, char)| {
            let after_exponent = rest[..at].ends_with(['e', 'E']);
            c.is_ascii_alphanumeric() || c == '.' || (matches!(c, '-' | '+') && (at == 0 || after_exponent))
        };
        let length = rest.char_indices().find(|&at| !in_number(at)).map_or(rest.len(), |(at, _)| at);
        let text = &rest[..length];
        self.cursor.at += length;
        let wrong = || self.cursor.error_at(start, format!("`{text}` is no number"));
        if text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(Arg::Int).map_err(|_| wrong());
        }
        text.parse().map(Arg::Float).map_err(|_| wrong())
    }

    fn regions(&mut self, id: NodeId) -> Parsed<()> {
        let op = self.graph.node(id).op.clone();
        match op {
            Op::Match(_) => self.arms(id),
            Op::If | Op::For(_) | Op::While => {
                self.cursor.space();
                let mut more = self.cursor.rest().starts_with(['(', '{']);
                while more {
                    self.region(id)?;
                    more = self.cursor.eat(if op == Op::While { "do" } else { "else" });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn arms(&mut self, id: NodeId) -> Parsed<()> {
        let mut patterns = Vec::new();
        self.cursor.expect("{")?;
        self.cursor.separator();
        while !self.cursor.eat("}") {
            self.cursor.space();
            let start = self.cursor.at;
            let text = self.cursor.string()?;
            patterns.push(text.parse().map_err(|error: ParseError| self.cursor.error_at(start, error.message))?);
            self.region(id)?;
            self.cursor.separator();
        }
        self.graph.node_mut(id).op = Op::Match(patterns);
        Ok(())
    }

    fn region(&mut self, owner: NodeId) -> Parsed<()> {
        let region = self.graph.add_region_to(owner);
        if self.cursor.eat("(") {
            self.params(region)?;
        }
        self.block(region)
    }

    fn ty(&mut self) -> Parsed<Type> {
        if self.cursor.eat(":") { parse_type(&mut self.cursor) } else { Ok(Type::Unknown) }
    }

    /// What the user noted on a node.
    fn meta(&mut self) -> Parsed<Meta> {
        let mut meta = Meta::default();
        if !self.cursor.eat("$") {
            return Ok(meta);
        }
        self.cursor.expect("(")?;
        let mut count = 0;
        while self.cursor.next_item(")", count)? {
            count += 1;
            let key = self.key().ok_or_else(|| self.cursor.expected("the key of a note"))?;
            self.cursor.expect("=")?;
            let start = self.cursor.at;
            let Some(value) = MetaValue::of_arg(self.arg()?) else {
                return Err(self.cursor.error_at(start, "a note is a literal or a list of literals".to_owned()));
            };
            meta.insert(key, value);
        }
        Ok(meta)
    }

    fn claim(&mut self, name: &str, at: usize) -> Parsed<()> {
        let free = self.graph.names.claim(name);
        if free { Ok(()) } else { Err(self.cursor.error_at(at, format!("the name `{name}` is taken"))) }
    }
}
