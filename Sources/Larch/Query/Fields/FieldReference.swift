/// A field of a filter, an order or a selection, without its type.
///
/// Its values are key values, so that one comparison works for indexes, stored bytes and decoded
/// records. If the record type is known, `TypedField` reads it from a record.
package class FieldReference: @unchecked Sendable {
  /// The form of the value; for several values, of one element.
  package let form: KeyForm
  /// An array or a set: a test is true if it is true for some element.
  package let isMultiple: Bool
  /// Whether the stored bytes of the field are those of its value, so that no code of its type is
  /// involved.
  let isStandard: Bool
  /// The name of `\.city` in plans.
  let name: String
  package let identity: FieldIdentity
  /// The hash of the identity, so that most different fields need not be compared.
  let identityHash: Int
  /// For a number that a filter calculates.
  let calculation: Calculation?
  /// For a field of a related record, in an order.
  let related: RelatedValue?
  /// For the score of a record in an order by relevance: the weights of the fields.
  let weights: [Double]?
  /// The reason why it cannot be used; thrown when the query runs.
  let error: LarchError?

  init(
    form: KeyForm, isMultiple: Bool, isStandard: Bool, name: String, identity: FieldIdentity,
    calculation: Calculation? = nil, related: RelatedValue? = nil, weights: [Double]? = nil,
    error: LarchError? = nil
  ) {
    self.related = related
    self.weights = weights
    self.error = error
    self.form = form
    self.isMultiple = isMultiple
    self.isStandard = isStandard
    self.name = name
    self.identity = identity
    identityHash = identity.hashValue
    self.calculation = calculation
  }

  /// A field whose stored bytes are those of its value.
  package convenience init(
    _ form: KeyForm, isMultiple: Bool = false, name: String, identity: FieldIdentity
  ) {
    self.init(
      form: form, isMultiple: isMultiple, isStandard: true, name: name, identity: identity)
  }

  /// For the place of a case in the order of an enum, or of a related record's: the cases in that order.
  var caseOrder: String? {
    guard case .place(_, let cases) = (related?.field ?? self).identity else { return nil }
    return cases
  }

  /// The coding names of a field that can be tested on stored bytes; nil for all others. The id
  /// comes from the key of the record.
  package var storedPath: [String]? {
    guard isStandard, case .stored(let names) = identity else { return nil }
    return names
  }
}

/// A field of a known record type, or of the type of an element.
final class TypedField<R>: FieldReference, @unchecked Sendable {
  /// Calls the closure with the values of the field, or of each element, until it returns false.
  let forEachValue: @Sendable (R, (KeyValues) -> Bool) -> Void

  init(
    form: KeyForm, isMultiple: Bool, isStandard: Bool, name: String, identity: FieldIdentity,
    calculation: Calculation? = nil,
    forEachValue: @escaping @Sendable (R, (KeyValues) -> Bool) -> Void
  ) {
    self.forEachValue = forEachValue
    super.init(
      form: form, isMultiple: isMultiple, isStandard: isStandard, name: name, identity: identity,
      calculation: calculation)
  }
}
