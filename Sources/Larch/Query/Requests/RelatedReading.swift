/// Converts a filter on a related record to a filter on the record that is related to it.
///
/// - Parameter isTrueForNone: the value of the filter if the related record does not exist.
typealias RelatedWrap = @Sendable (_ filter: FilterNode, _ isTrueForNone: Bool) -> FilterNode

/// A value of a related record, such as `$0.company.name`, as a value of the record itself: like
/// `companies[person.companyID]?.name`.
final class RelatedReading<Value>: Sendable {
  let wrap: RelatedWrap
  /// Identifies the record: a chain of associations.
  let path: [String]
  /// The value if the record does not exist.
  let valueOfNone: @Sendable () -> Value
  /// Converts a test of the value to a test of the related record.
  private let test:
    @Sendable (String, LarchError?, @escaping @Sendable (Value) -> Bool) -> FilterNode
  /// `RelatedMembers<Root, Wrapped>`, if the value is an optional.
  let members: any AnyObject & Sendable

  init(
    wrap: @escaping RelatedWrap, path: [String],
    valueOfNone: @escaping @Sendable () -> Value, members: any AnyObject & Sendable,
    test:
      @escaping @Sendable (String, LarchError?, @escaping @Sendable (Value) -> Bool) -> FilterNode
  ) {
    self.wrap = wrap
    self.path = path
    self.valueOfNone = valueOfNone
    self.members = members
    self.test = test
  }

  /// A test of the value in the decoded record.
  func filter(
    _ text: String, _ error: LarchError?, _ matches: @escaping @Sendable (Value) -> Bool
  ) -> FilterNode {
    wrap(test(text, error, matches), matches(valueOfNone()))
  }

  /// Something that can be read from the value, but only in the decoded record.
  func map<Other>(_ read: @escaping @Sendable (Value) -> Other) -> RelatedReading<Other> {
    RelatedReading<Other>(
      wrap: wrap, path: path, valueOfNone: { [valueOfNone] in read(valueOfNone()) },
      members: members,
      test: { [test] text, error, matches in test(text, error) { matches(read($0)) } })
  }
}

/// Finds the properties of a value of a related record; here those that need the decoded record.
class RelatedMembers<Root, Wrapped>: @unchecked Sendable {
  /// A property of the value; nil if there is no value.
  func member<Member>(
    _ keyPath: any KeyPath<Wrapped, Member> & Sendable, of value: RelatedReading<Wrapped?>,
    _ name: String
  ) -> FieldNode<Root, Member?> {
    FieldNode(
      related: value.map { $0?[keyPath: keyPath] }, name: "\(name).<\(Member.self)>",
      identity: .computed(keyPath), field: nil, elementField: nil)
  }

  /// An optional property of the value; nil where either is nil.
  func flatMember<Member>(
    _ keyPath: any KeyPath<Wrapped, Member?> & Sendable, of value: RelatedReading<Wrapped?>,
    _ name: String
  ) -> FieldNode<Root, Member?> {
    FieldNode(
      related: value.map { $0?[keyPath: keyPath] }, name: "\(name).<\(Member.self)>",
      identity: .computed(keyPath), field: nil, elementField: nil)
  }
}

/// Finds the properties that are fields of the related record, with its indexes.
final class TargetMembers<Root, Target, Wrapped>: RelatedMembers<Root, Wrapped>,
  @unchecked Sendable
{
  enum Source {
    case value(FieldNode<Target, Wrapped>)
    case optional(FieldNode<Target, Wrapped?>)
  }

  private let source: Source

  init(_ source: Source) { self.source = source }

  override func member<Member>(
    _ keyPath: any KeyPath<Wrapped, Member> & Sendable, of value: RelatedReading<Wrapped?>,
    _ name: String
  ) -> FieldNode<Root, Member?> {
    switch source {
    case .value(let node): .ofTarget(.value(node.member(keyPath)), value.wrap, value.path)
    case .optional(let node):
      .ofTarget(.optional(node.optionalMember(keyPath)), value.wrap, value.path)
    }
  }

  override func flatMember<Member>(
    _ keyPath: any KeyPath<Wrapped, Member?> & Sendable, of value: RelatedReading<Wrapped?>,
    _ name: String
  ) -> FieldNode<Root, Member?> {
    switch source {
    case .value(let node): .ofTarget(.optional(node.member(keyPath)), value.wrap, value.path)
    case .optional(let node):
      .ofTarget(.optional(node.flatMember(keyPath)), value.wrap, value.path)
    }
  }
}

extension FieldNode {
  /// A field of a related record.
  static func ofTarget<Target, Wrapped>(
    _ source: TargetMembers<Root, Target, Wrapped>.Source, _ wrap: @escaping RelatedWrap,
    _ path: [String]
  ) -> FieldNode<Root, Wrapped?> where Value == Wrapped? {
    func reading(_ read: @escaping @Sendable (Target) -> Wrapped?) -> RelatedReading<Wrapped?> {
      RelatedReading(
        wrap: wrap, path: path, valueOfNone: { nil },
        members: TargetMembers<Root, Target, Wrapped>(source),
        test: { text, error, matches in
          .record(RecordTest<Target>(text: text, error: error, matches: { matches(read($0)) }))
        })
    }
    switch source {
    case .value(let node):
      let read = node.read
      return FieldNode<Root, Wrapped?>(
        related: reading { read($0) }, name: node.name, identity: node.identity,
        field: node.key?.field, elementField: node.elementField, ownOrder: node.ownOrder)
    case .optional(let node):
      return FieldNode<Root, Wrapped?>(
        related: reading(node.read), name: node.name, identity: node.identity,
        field: node.key?.field, elementField: node.elementField, ownOrder: node.ownOrder)
    }
  }
}
