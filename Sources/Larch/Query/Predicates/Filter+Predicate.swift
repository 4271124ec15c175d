internal import Foundation

extension Filter where Root: Record {
  /// The condition of a predicate: the parts that are exactly filters of Larch, and the others as tests
  /// of the decoded record, which the predicate makes.
  init(_ predicate: Predicate<Root>) {
    let scope = PredicateScope(record: predicate.variable)
    let parts = predicate.expression.parts
    var node = FilterNode.always
    for (place, part) in parts.enumerated() {
      let condition = part.isTrue(in: scope) ?? .unknown
      guard condition.fails != nil else {
        node = node.and(condition.holds)
        continue
      }
      // On a record on which this part fails, the parts after it are not evaluated. So they do not
      // exclude one, and the predicate sees each record on which it may fail.
      let rest = Array(parts[place...])
      let all = rest.dropFirst().reduce(condition) { $0.and($1.isTrue(in: scope) ?? .unknown) }
      node = node.and(all.seen).and(scope.test(rest, mayFail: true))
      break
    }
    self.init(node)
  }
}
