"""Mutants: small changes of a module's syntax tree that a test must detect.

Theory of operation: one walk over the tree yields every place where a node can be replaced or removed. The walk changes
nothing; `applied` makes one change and reverts it. Types, decorators, strings and messages are for readers or for mypy,
and have no mutants. A mutant is identified by its module, its function and its text before and after the change: its
identity does not depend on the lines above it.
"""

import ast
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

CONTEXT: Final = 30  # characters of a statement that are shown on each side of a change
SKIPPED: Final = {  # fields with types, decorators or texts
    *((ast.AnnAssign, "annotation"), (ast.arg, "annotation"), (ast.FunctionDef, "returns")),
    *((ast.FunctionDef, "decorator_list"), (ast.ClassDef, "decorator_list"), (ast.ClassDef, "keywords")),
    *((ast.ClassDef, "bases"), (ast.JoinedStr, "values"), (ast.Raise, "exc"), (ast.Raise, "cause")),
}
MESSAGES: Final = {"evidence", "problem", "text"}  # names of texts for readers
TYPE: Final = re.compile(r"[A-Z]\w*[a-z]\w*")  # a name at module level that is a type, by its spelling
SWAPPED: Final[Mapping[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases")
Node = TypeVar("Node", bound=ast.AST)
Part = TypeVar("Part", bound=ast.AST)
Statement: TypeAlias = ast.stmt | ast.match_case
Enums: TypeAlias = Mapping[str, tuple[str, ...]]  # the members of each enum


class Key(NamedTuple):
    """The identity of a mutant."""

    module: str
    function: str
    before: str
    after: str


class Place(NamedTuple):
    """The node that a mutant replaces, as a field of its parent. Without a new node, the old one is removed."""

    parent: ast.AST
    field: str
    at: int | None  # in a list
    new: ast.AST | None


class Mutant(NamedTuple):
    key: Key
    lines: range  # of the statement
    names: frozenset[str]  # whose value or meaning the mutant changes
    place: Place
    tree: ast.Module


class Scope(NamedTuple):
    """The current place of the walk."""

    function: str = ""
    statement: Statement = ast.Pass()
    bound: frozenset[str] = frozenset()  # names that have a value
    returns: str = ""


def members(files: Iterable[Path]) -> Enums:
    """Every enum of the product, by its name."""
    found: dict[str, tuple[str, ...]] = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
                assigned = [each for each in node.body if isinstance(each, ast.Assign)]
                found[node.name] = tuple(ast.unparse(each.targets[0]) for each in assigned)
    return found


def renamed(tree: ast.Module, enums: Enums) -> Enums:
    """The enums, also by their aliases in a module."""
    also: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        match node:
            case ast.ImportFrom(names=imported):
                also |= {each.asname: enums[each.name] for each in imported if each.asname and each.name in enums}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Name(id=old)) if old in enums:
                also[name] = enums[old]
            case _:
                pass
    return {**enums, **also}


def mutants(module: str, source: bytes, of: Enums) -> list[Mutant]:
    """All mutants of a module, each once."""
    tree = ast.parse(source)
    enums = renamed(tree, of)
    found: dict[Key, Mutant] = {}
    for place, scope in places(tree, Scope(), enums):
        before = header(scope.statement)
        with applied(place):
            after = "" if place.new is None else header(place.new if gone(place) else scope.statement)
        key = Key(module, scope.function, *window(before, after))
        found.setdefault(key, Mutant(key, lines_of(scope.statement), names(scope), place, tree))
    return [each for key, each in found.items() if key.before != key.after]


def names(scope: Scope) -> frozenset[str]:
    assigned = () if isinstance(scope.statement, ast.FunctionDef | ast.ClassDef) else stored(scope.statement)
    return frozenset(assigned) | frozenset(scope.function.split(".")) - {""}


def gone(place: Place) -> bool:
    """Whether the statement itself is replaced."""
    return isinstance(place.new, ast.stmt | ast.match_case)


@contextmanager
def applied(place: Place) -> Iterator[None]:
    parent, field, at, new = place
    old = getattr(parent, field)
    setattr(parent, field, new if at is None else [*old[:at], *([] if new is None else [new]), *old[at + 1 :]])
    yield
    setattr(parent, field, old)


def header(node: ast.AST) -> str:
    """A statement on one line, without the statements inside it."""
    short = copy.copy(node)
    for field in BODIES:
        if isinstance(getattr(short, field, None), list):
            setattr(short, field, [])
    return " ".join(ast.unparse(short).split())


def common_prefix(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def window(before: str, after: str) -> tuple[str, str]:
    """The part of both texts in which they differ, with some words on each side."""
    if not after:
        return before, after
    first = common_prefix(before, after)
    last = min(common_prefix(before[::-1], after[::-1]), len(before) - first, len(after) - first)
    first = max(0, before.rfind(" ", 0, max(0, first - CONTEXT)) + 1)
    ends = before.find(" ", len(before) - last + CONTEXT) if last > CONTEXT else -1
    cut = 0 if ends < 0 else len(before) - ends
    return before[first : len(before) - cut], after[first : len(after) - cut]


def lines_of(statement: Statement) -> range:
    """The lines of a statement, without the statements inside it."""
    start = statement.pattern if isinstance(statement, ast.match_case) else statement
    inside = statement.cases if isinstance(statement, ast.Match) else getattr(statement, "body", None)
    if not inside:
        return range(start.lineno, (start.end_lineno or start.lineno) + 1)
    first = inside[0].pattern if isinstance(inside[0], ast.match_case) else inside[0]
    return range(start.lineno, max(first.lineno, start.lineno + 1))


# --- places


def places(node: ast.AST, scope: Scope, enums: Enums) -> Iterator[tuple[Place, Scope]]:
    for field, value in ast.iter_fields(node):
        if (type(node), field) in SKIPPED:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or left_out(child, scope):
                continue
            inside = entered(child, scope)
            for new in variants(child, inside, enums):
                yield Place(node, field, index, new), inside
            yield from places(child, inside, enums)
            if isinstance(child, ast.Assign | ast.For) or (isinstance(child, ast.AnnAssign) and child.value):
                scope = scope._replace(bound=scope.bound | stored(child))


def left_out(node: ast.AST, scope: Scope) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True  # a docstring, or a case that no value reaches
        case ast.match_case(body=[ast.Expr(value=ast.Call(func=ast.Name(id="assert_never")))]):
            return True
        case ast.match_case(pattern=ast.MatchAs(pattern=None, name=None), body=[ast.Pass()]):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in MESSAGES or (not scope.function and bool(TYPE.fullmatch(name)))
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.keyword(arg=name):
            return name in MESSAGES
        case _:
            return False


def entered(node: ast.AST, scope: Scope) -> Scope:
    match node:
        case ast.FunctionDef():
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            name = ".".join(filter(None, (scope.function, node.name)))
            returns = ast.unparse(node.returns) if node.returns else ""
            return Scope(name, node, scope.bound | {each.arg for each in arguments}, returns)
        case ast.ClassDef():
            return Scope(".".join(filter(None, (scope.function, node.name))), node)
        case ast.stmt() | ast.match_case():
            return scope._replace(statement=node)
        case _:
            return scope


def stored(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


# --- variants


def changed(node: Node, **fields: object) -> Node:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def shorter(parts: list[Part], may_go: Callable[[Part], bool] = lambda _: True) -> Iterator[list[Part]]:
    return ([*parts[:at], *parts[at + 1 :]] for at, each in enumerate(parts) if may_go(each))


def has_effect(argument: ast.keyword) -> bool:
    """Whether a call without this argument may act differently. `strict=False` is the default of zip."""
    return argument.arg not in MESSAGES and ast.unparse(argument) != "strict=False"


def starred(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred)


def sequence(*sides: ast.expr) -> bool:
    """Whether an operation joins texts or sequences: any other operation on them is an error at once."""
    return any(
        isinstance(each, ast.Tuple | ast.List | ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in sides
    )


def variants(node: ast.AST, scope: Scope, enums: Enums) -> Iterator[ast.AST | None]:
    """The replacements of a node; None removes the node."""
    match node:
        case ast.stmt() | ast.match_case():
            yield from of_statement(node, scope)
        case ast.Constant(value=bool(value)):
            yield changed(node, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield changed(node, value=value + 1)
        case ast.Attribute(value=ast.Name(id=name), attr=member) if member in enums.get(name, ()):
            there = enums[name]
            yield changed(node, attr=there[(there.index(member) + 1) % len(there)])
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.MatchOr() | ast.Slice() | ast.Call():
            yield from of_parts(node, scope)
        case _:
            yield from of_condition(node)


def of_condition(node: ast.AST) -> Iterator[ast.AST]:
    """Other operators, and forced conditions."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield changed(node, ops=[*ops[:at], SWAPPED[type(op)](), *ops[at + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield changed(node, op=SWAPPED[type(op)]())
            for rest in shorter(values):
                yield changed(node, values=rest) if rest[1:] else rest[0]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED and not sequence(left, right):
            yield changed(node, op=SWAPPED[type(op)]())
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.comprehension(ifs=ifs):
            yield from (changed(node, ifs=rest) for rest in shorter(ifs))
        case _:
            pass


def of_parts(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The node without one of its parts."""
    match node:
        case ast.Call(args=args, keywords=keywords):
            yield from (changed(node, keywords=rest) for rest in shorter(keywords, has_effect))
            yield from (changed(node, args=rest) for rest in shorter(args, starred))
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            every = isinstance(node, ast.Set) or not scope.function
            yield from (changed(node, elts=rest) for rest in shorter(parts, lambda each: every or starred(each)))
        case ast.Dict(keys=keys, values=values):
            for at in range(len(keys)):
                yield changed(node, keys=[*keys[:at], *keys[at + 1 :]], values=[*values[:at], *values[at + 1 :]])
        case ast.MatchOr(patterns=patterns):
            for rest in shorter(patterns):
                yield changed(node, patterns=rest) if rest[1:] else rest[0]
        case ast.Slice():
            yield from (changed(node, **{end: None}) for end in ("lower", "upper", "step") if getattr(node, end))
        case _:
            pass


def of_statement(node: Statement, scope: Scope) -> Iterator[ast.AST | None]:
    match node:
        case ast.If():
            yield from (changed(node, test=ast.Constant(value)) for value in (True, False))
        case ast.While():
            yield changed(node, test=ast.Constant(value=False))
        case ast.For():
            yield changed(node, iter=ast.Tuple([], ast.Load()))
        case ast.match_case(guard=guard):
            yield None
            yield from () if guard is None else (changed(node, guard=None),)
        case ast.Return(value=ast.expr() as value):
            yield from (changed(node, value=new) for new in returned(value, scope.returns))
        case ast.Assign(targets=targets) if kept_without(targets, scope):
            yield ast.Pass()
        case ast.AugAssign(op=op):
            yield from (ast.Pass(), changed(node, op=SWAPPED[type(op)]()))
        case ast.Expr() | ast.Raise() | ast.Delete() | ast.Break() | ast.Return():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case _:
            pass


def kept_without(targets: list[ast.expr], scope: Scope) -> bool:
    """Whether the targets of an assignment have a value without it."""
    attributes = all(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)
    return attributes or all(stored(each) <= scope.bound for each in targets)


def returned(value: ast.expr, returns: str) -> Iterator[ast.expr]:
    empty = ast.Tuple([], ast.Load())
    if returns == "bool":
        yield ast.UnaryOp(ast.Not(), value)
    elif re.match(r"(tuple|list|Sequence)\[", returns) and ast.dump(value) != ast.dump(empty):
        yield empty
    elif not (isinstance(value, ast.Constant) and value.value is None):
        yield ast.Constant(value=None)
