/// The associations of a record type to one record, for orders: `\.company.name` in
/// `Person.all.sorted(by: \.company.name)`.
@dynamicMemberLookup
public struct RelatedFields<Root: Record>: Sendable {
  init() {}

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, BelongsTo<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Fields().related(Root.self[keyPath: keyPath]) }

  /// The record at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasOne<Root, Target>> & Sendable
  ) -> RelatedRecord<Root, Target> { Fields().related(Root.self[keyPath: keyPath]) }

  // Many records have no value to order by. These are here so that the compiler can say so.

  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, HasMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { Fields().related(Root.self[keyPath: keyPath]) }

  /// The records at the other end of an association.
  public subscript<Target>(
    dynamicMember keyPath: any KeyPath<Root.Type, ManyToMany<Root, Target>> & Sendable
  ) -> RelatedRecords<Root, Target> { Fields().related(Root.self[keyPath: keyPath]) }
}

/// The place of a value in an order that is a field of a related record.
final class RelatedValue: Sendable {
  /// The associations that lead there, each to one record, as filters for any record.
  let route: [RelatedFilter]
  /// The field of the record at the end.
  let field: FieldReference

  init(route: [RelatedFilter], field: FieldReference) {
    self.route = route
    self.field = field
  }
}

/// Identifies a field of a related record.
private struct RelatedChain: Hashable {
  let path: [String]
  let identity: FieldIdentity
}

/// Turns a chain into a key path, which identifies a field that is not a stored property.
private struct RelatedChains {
  subscript(chain: RelatedChain) -> RelatedChain { chain }
}

extension FieldReference {
  /// A field of a related record; nil if the record does not exist.
  convenience init<Root, Value>(
    ofRelated node: FieldNode<Root, Value?>, as type: Value?.Type
  ) where Value: IndexKey {
    let reading = node.related
    var route: [RelatedFilter] = []
    var filter = reading.map { $0.wrap(.always, false) }
    while case .related(let related)? = filter {
      route.append(related)
      filter = related.filter
    }
    let name = (reading?.path ?? []) + [node.ownOrder?.name ?? node.name]
    let identity = node.ownOrder?.identity ?? node.identity
    self.init(
      form: node.ownOrder.map { .optional($0.form.unwrapped) } ?? type.fieldCoding.form,
      isMultiple: false, isStandard: false, name: name.joined(separator: "."),
      identity: .computed(
        \RelatedChains.[RelatedChain(path: reading?.path ?? [], identity: identity)]),
      related: node.key.map { RelatedValue(route: route, field: node.ownOrder ?? $0.field) },
      error: node.key == nil ? FieldReference.unreadable(name.joined(separator: ".")) : nil)
  }

  private static func unreadable(_ name: String) -> LarchError {
    LarchError(
      .invalidQuery,
      "An order by a related record needs one of its stored fields; name a stored property of that record."
    ) { $0.field = name }
  }
}

extension OrderTerm {
  init<R: Record, Value: IndexKey>(
    _ field: KeyPath<RelatedFields<R>, Field<R, Value?>>, _ direction: SortDirection,
    _ form: CheckedTextForm = .exact
  ) {
    self.init(
      field: FieldReference(
        ofRelated: RelatedFields()[keyPath: field].node, as: Value?.self),
      descends: direction == .descending, textForm: form.form, error: form.error)
  }
}
