import Foundation
import LarchTestSupport

@testable import Larch

/// Makes random predicates from the parts that the macro `#Predicate` makes them from.
struct OraclePredicates<K: OracleIndexes> {
  typealias Thing = OracleThing<K>
  typealias Nodes = PredicateExpressions
  typealias Part<Output> = any StandardPredicateExpression<Output>
  typealias V = OracleValues

  var random: SeededGenerator
  /// The record. A predicate makes it, so it is set while one is made.
  private(set) var thing = Nodes.Variable<Thing>()

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func predicate(depth: Int) -> Predicate<Thing> {
    Predicate { variable in
      thing = variable
      return condition(depth: depth)
    }
  }

  // MARK: Conditions

  private mutating func condition(depth: Int) -> Part<Bool> {
    guard depth > 1, random.chance(3, in: 5) else { return leaf() }
    switch random.below(16) {
    case 0...5: return and(condition(depth: depth - 1), condition(depth: depth - 1))
    case 6...9: return or(condition(depth: depth - 1), condition(depth: depth - 1))
    case 10...12: return not(condition(depth: depth - 1))
    case 13:
      let test = condition(depth: depth - 1)
      return choose(test, condition(depth: depth - 1), condition(depth: depth - 1))
    case 14:
      return equal(condition(depth: depth - 1), constant(random.chance(1, in: 2)))
    default: return optionalCondition(depth: depth - 1)
    }
  }

  private mutating func leaf() -> Part<Bool> {
    switch random.below(24) {
    case 0...2: return compared(number(), number())
    case 3...4: return same(maybe(), maybe())
    case 5: return compared(real(), real())
    case 6: return same(maybeReal(), maybeReal())
    case 7...8: return same(text(), text())
    case 9: return same(note(), note())
    case 10: return compared(text(), text())
    case 11: return compared(field(\.day), constant(random.pick(V.days)))
    case 12: return same(field(\.blob), constant(random.pick(V.blobs)))
    case 13: return compared(field(\.key), constant(random.pick(V.keys)))
    case 14: return grade()
    case 15: return same(field(\.version), constant(OracleVersion(major: 1, minor: 2)))
    case 16: return random.chance(1, in: 3) ? constant(random.chance(1, in: 2)) : field(\.flag)
    case 17: return range()
    case 18...19: return textTest(text())
    case 20: return list()
    case 21...22: return elements()
    default: return type()
    }
  }

  /// A condition on the value of an optional.
  private mutating func optionalCondition(depth: Int) -> Part<Bool> {
    let choice: Part<Bool?>
    switch random.below(5) {
    case 0: choice = mapped(note()) { maker, text in maker.textTest(text) }
    case 1: choice = mapped(maybe()) { maker, number in maker.compared(number, maker.number()) }
    case 2:
      choice = mapped(field(\.extra)) { maker, place in
        let city = maker.keyPath(place, \.city)
        let zip = maker.keyPath(place, \.zip)
        return maker.random.chance(1, in: 2)
          ? maker.same(city, maker.text()) : maker.same(zip, maker.maybe())
      }
    case 3:
      // What is no part of the optional.
      choice = mapped(maybe()) { maker, number in
        maker.or(maker.compared(number, maker.number()), maker.leaf())
      }
    default:
      choice = mapped(maybeReal()) { maker, real in maker.not(maker.compared(real, maker.real())) }
    }
    switch random.below(5) {
    case 0: return coalesce(choice, constant(false))
    case 1: return coalesce(choice, constant(true))
    case 2: return coalesce(choice, condition(depth: depth))
    case 3: return same(choice, constant(random.pick([true, false, nil] as [Bool?])))
    default: return same(choice, none())
    }
  }

  private mutating func grade() -> Part<Bool> {
    let wanted = constant(random.pick(OracleGrade.allCases))
    return random.chance(1, in: 2)
      ? same(field(\.grade), wanted) : compared(field(\.grade), wanted)
  }

  private mutating func range() -> Part<Bool> {
    let ends = [random.pick(V.numbers), random.pick(V.numbers)].sorted()
    switch random.below(8) {
    case 0: return isIn(closed(constant(ends[0]), constant(ends[1])), number())
    case 1: return isIn(Nodes.Value(ends[0]...ends[1]), number())
    case 2: return isIn(Nodes.Value(ends[0]..<ends[1]), number())
    case 3: return isIn(Nodes.Value(ends[0]...), number())
    case 4: return isIn(PredicateExpressions.Value(...ends[1]), number())
    case 5: return isIn(halfOpen(constant(ends[0]), constant(ends[1])), number())
    case 6:
      // Foundation stops the program if the bounds are in the wrong order.
      let reals = [random.pick(V.reals.filter { !$0.isNaN }), 0.25].sorted()
      return isIn(closed(constant(reals[0]), constant(reals[1])), real())
    default: return isIn(Nodes.Value(ends[0]...ends[1]), unwrapped(field(\.maybe)))
    }
  }

  private mutating func textTest(_ text: Part<String>) -> Part<Bool> {
    let wanted = random.pick(V.texts)
    switch random.below(3) {
    case 0: return startsWith(text, constant(wanted))
    case 1: return contains(text, constant(wanted))
    default: return same(text, constant(wanted))
    }
  }

  private mutating func list() -> Part<Bool> {
    switch random.below(5) {
    case 0:
      let list = (0..<random.below(4)).map { _ in random.pick(V.numbers) }
      return hasElement(constant(list), number())
    case 1:
      let list = (0..<3).map { _ in random.optional(random.pick(V.texts)) }
      return hasElement(constant(list), note())
    case 2: return hasElement(constant(Set((0..<3).map { _ in random.pick(V.texts) })), text())
    case 3: return hasElement(constant((0..<3).map { _ in random.pick(V.reals) }), real())
    default: return hasElement(constant([OracleGrade.gold, .silver]), field(\.grade))
    }
  }

  private mutating func elements() -> Part<Bool> {
    switch random.below(9) {
    case 0: return hasElement(field(\.tags), constant(random.pick(V.texts)))
    case 1: return hasElement(field(\.marks), constant(random.pick(V.numbers)))
    case 2: return anyElement(field(\.tags)) { maker, tag in maker.textTest(tag) }
    case 3:
      return anyElement(field(\.tags)) { maker, tag in
        maker.and(maker.textTest(tag), maker.not(maker.textTest(tag)))
      }
    case 4:
      // The record itself in the condition on an element.
      return anyElement(field(\.marks)) { maker, mark in maker.compared(mark, maker.number()) }
    case 5: return allElements(field(\.tags)) { maker, tag in maker.textTest(tag) }
    case 6:
      return allElements(field(\.marks)) { maker, mark in
        maker.not(maker.same(mark, maker.constant(maker.random.pick(V.numbers))))
      }
    case 7: return same(maximum(field(\.marks)), maybe())
    default:
      let kept = filtered(field(\.tags)) { maker, tag in maker.textTest(tag) }
      return compared(keyPath(kept, \.count), constant(random.below(3)))
    }
  }

  private mutating func type() -> Part<Bool> {
    switch random.below(3) {
    case 0: return isType(field(\.number))
    case 1: return same(cast(field(\.number)), maybe())
    default: return isType(field(\.maybe))
    }
  }

  // MARK: Values

  private mutating func number() -> Part<Int> {
    switch random.below(16) {
    case 0...4: return field(\.number)
    case 5...9: return constant(random.pick(V.numbers))
    case 10: return coalesce(maybe(), constant(random.pick(V.numbers)))
    case 11: return random.chance(1, in: 4) ? unwrapped(maybe()) : field(\.length)
    case 12: return keyPath(field(\.tags), \.count)
    case 13: return remainder(field(\.number), constant(random.pick([2, 3, 7])))
    case 14: return sum(field(\.length), constant(random.below(3)))
    default:
      return random.chance(1, in: 3)
        // Of a list: a set has another order in each copy.
        ? keyPath(element(filtered(field(\.tags)) { $0.textTest($1) }, constant(0)), \.count)
        : negative(constant(random.pick([0, 1, 2])))
    }
  }

  private mutating func maybe() -> Part<Int?> {
    switch random.below(10) {
    case 0...3: return field(\.maybe)
    case 4...5: return constant(random.optional(random.pick(V.numbers)))
    case 6: return none()
    case 7: return keyPath(field(\.place), \.zip)
    case 8: return flatMapped(field(\.extra)) { maker, place in maker.keyPath(place, \.zip) }
    default: return minimum(field(\.marks))
    }
  }

  private mutating func real() -> Part<Double> {
    switch random.below(10) {
    case 0...3: return field(\.real)
    case 4...6: return constant(random.pick(V.reals))
    case 7: return coalesce(field(\.maybeReal), constant(random.pick(V.reals)))
    case 8: return sum(field(\.real), constant(random.pick(V.reals)))
    default: return quotient(field(\.real), constant(random.pick(V.reals)))
    }
  }

  private mutating func maybeReal() -> Part<Double?> {
    random.chance(1, in: 2)
      ? field(\.maybeReal) : constant(random.optional(random.pick(V.reals)))
  }

  private mutating func text() -> Part<String> {
    switch random.below(12) {
    case 0...4: return field(\.text)
    case 5...8: return constant(random.pick(V.texts))
    case 9: return keyPath(field(\.place), \.city)
    case 10: return coalesce(note(), constant(random.pick(V.texts)))
    default: return random.chance(1, in: 4) ? unwrapped(note()) : field(\.text)
    }
  }

  private mutating func note() -> Part<String?> {
    switch random.below(6) {
    case 0...2: return field(\.note)
    case 3: return constant(random.optional(random.pick(V.texts)))
    case 4: return none()
    default:
      return mapped(field(\.extra)) { maker, place in maker.keyPath(place, \.city) }
    }
  }

  /// `==` or `!=`, in either order.
  private mutating func same<Value: Equatable>(_ a: Part<Value>, _ b: Part<Value>) -> Part<Bool> {
    switch random.below(3) {
    case 0: equal(b, a)
    case 1: notEqual(a, b)
    default: equal(a, b)
    }
  }

  private mutating func compared<Value: Comparable>(
    _ a: Part<Value>, _ b: Part<Value>
  ) -> Part<Bool> {
    let operators: [Nodes.ComparisonOperator] = [
      .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ]
    let op = random.pick(operators)
    return random.chance(1, in: 4) ? comparison(b, op, a) : comparison(a, op, b)
  }

  // MARK: Closures

  // A builder makes the variable of its closure itself, and its type has that of the closure's result.
  // So each closure is called twice with the same random numbers: the first result tells the type.

  private mutating func mapped<Value, Result>(
    _ value: Part<Value?>, _ body: (inout Self, Part<Value>) -> Part<Result>
  ) -> Part<Result?> {
    var maker = self
    let sample = body(&self, Nodes.Variable<Value>())
    func make<A: StandardPredicateExpression<Value?>, B: StandardPredicateExpression<Result>>(
      _ value: A, _: B
    ) -> Part<Result?> {
      // The same random numbers give the same type.
      Nodes.OptionalFlatMap<A, Value, B, Result>(value) { body(&maker, $0) as! B }
    }
    return make(value, sample)
  }

  /// The same for a closure whose result is an optional.
  private mutating func flatMapped<Value, Result>(
    _ value: Part<Value?>, _ body: (inout Self, Part<Value>) -> Part<Result?>
  ) -> Part<Result?> {
    var maker = self
    let sample = body(&self, Nodes.Variable<Value>())
    func make<A: StandardPredicateExpression<Value?>, B: StandardPredicateExpression<Result?>>(
      _ value: A, _: B
    ) -> Part<Result?> {
      Nodes.OptionalFlatMap<A, Value, B, Result>(value) { body(&maker, $0) as! B }
    }
    return make(value, sample)
  }

  private mutating func anyElement<List: Sequence>(
    _ list: Part<List>, _ body: (inout Self, Part<List.Element>) -> Part<Bool>
  ) -> Part<Bool> {
    var maker = self
    let sample = body(&self, Nodes.Variable<List.Element>())
    func make<A: StandardPredicateExpression<List>, B: StandardPredicateExpression<Bool>>(
      _ list: A, _: B
    ) -> Part<Bool> { Nodes.build_contains(list, where: { body(&maker, $0) as! B }) }
    return make(list, sample)
  }

  private mutating func allElements<List: Sequence>(
    _ list: Part<List>, _ body: (inout Self, Part<List.Element>) -> Part<Bool>
  ) -> Part<Bool> {
    var maker = self
    let sample = body(&self, Nodes.Variable<List.Element>())
    func make<A: StandardPredicateExpression<List>, B: StandardPredicateExpression<Bool>>(
      _ list: A, _: B
    ) -> Part<Bool> { Nodes.build_allSatisfy(list) { body(&maker, $0) as! B } }
    return make(list, sample)
  }

  private mutating func filtered<List: Sequence>(
    _ list: Part<List>, _ body: (inout Self, Part<List.Element>) -> Part<Bool>
  ) -> Part<[List.Element]> {
    var maker = self
    let sample = body(&self, Nodes.Variable<List.Element>())
    func make<A: StandardPredicateExpression<List>, B: StandardPredicateExpression<Bool>>(
      _ list: A, _: B
    ) -> Part<[List.Element]> { Nodes.build_filter(list) { body(&maker, $0) as! B } }
    return make(list, sample)
  }
}
