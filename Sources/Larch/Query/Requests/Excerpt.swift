/// A record as it is stored, but for some fields that were left out and have given values.
///
/// ```swift
/// let list = Person.where { $0.city == "Oslo" }.leavingOut(\.photo, as: Data())
/// for person in try store.fetch(list) { print(person.id, person.name) }
/// ```
///
/// Its properties are those of the record, and can only be read. It is no record, so it cannot be
/// saved: that would overwrite the fields that were left out. To change the record, find it by its
/// ``id``.
///
/// Created by ``Query/leavingOut(_:as:)``.
@dynamicMemberLookup
public struct Excerpt<R: Record>: Sendable, Identifiable {
  private let record: R

  fileprivate init(_ record: R) { self.record = record }

  /// The id of the record.
  public var id: R.ID { record.id }

  /// A property of the record; of one that was left out, the given value.
  public subscript<Value>(dynamicMember field: KeyPath<R, Value>) -> Value {
    record[keyPath: field]
  }
}

extension Excerpt: Equatable where R: Equatable {}
extension Excerpt: Hashable where R: Hashable {}

extension Excerpt {
  /// Not available: an excerpt lacks fields.
  @available(
    *, unavailable,
    message:
      "an excerpt lacks fields, so it cannot be saved: find the record by its `id`, and change that"
  )
  public func save() {}
}

/// A field that is left out, and its value.
private struct LeftOutField<R: Record>: Sendable {
  let name: String
  let leaveOut: @Sendable (inout R) -> Void

  init<Value: Sendable>(_ field: any WritableKeyPath<R, Value> & Sendable, as value: Value) {
    name = FieldNode.of(field).name
    leaveOut = { $0[keyPath: field] = value }
  }
}

// Forms for one to four fields: with a parameter pack the compiler has no message for a misspelt name.

extension Query {
  private func excerpts(_ fields: LeftOutField<R>...) -> Selection<R, Excerpt<R>> {
    let described = SelectedFieldDescription(
      name: "all but " + fields.map(\.name).joined(separator: ", "), type: Excerpt<R>.self,
      reference: nil, mayBeInvalid: true)
    return Selection(self, [described], nil) { row, target in
      // The rows of a selection are of its record type.
      var record = try row.record().assumingMemoryBound(to: R.self).pointee
      for field in fields { field.leaveOut(&record) }
      target.initialize(to: Excerpt(record))
      row.note(target)
    }
  }

  /// The records without one of their fields, such as a large one that a list does not show.
  ///
  /// ```swift
  /// let list = Person.all.sorted(by: \.name).leavingOut(\.photo, as: Data())
  /// ```
  ///
  /// Conditions and orders see the stored values, also of a field that is left out. Each record is
  /// read and checked as a whole: this saves the memory of the values, not the reading. Where a few
  /// fields are enough, `select` of these is faster.
  ///
  /// - Parameters:
  ///   - field: the property that is left out.
  ///   - value: what it is in the results.
  public func leavingOut<Value: Sendable>(
    _ field: any WritableKeyPath<R, Value> & Sendable,
    as value: Value
  ) -> Selection<R, Excerpt<R>> {
    excerpts(LeftOutField(field, as: value))
  }

  /// The records without two of their fields. See ``leavingOut(_:as:)``.
  public func leavingOut<First: Sendable, Second: Sendable>(
    _ first: any WritableKeyPath<R, First> & Sendable,
    _ second: any WritableKeyPath<R, Second> & Sendable,
    as firstValue: First, _ secondValue: Second
  ) -> Selection<R, Excerpt<R>> {
    excerpts(
      LeftOutField(first, as: firstValue),
      LeftOutField(second, as: secondValue))
  }

  /// The records without three of their fields. See ``leavingOut(_:as:)``.
  public func leavingOut<First: Sendable, Second: Sendable, Third: Sendable>(
    _ first: any WritableKeyPath<R, First> & Sendable,
    _ second: any WritableKeyPath<R, Second> & Sendable,
    _ third: any WritableKeyPath<R, Third> & Sendable,
    as firstValue: First, _ secondValue: Second, _ thirdValue: Third
  ) -> Selection<R, Excerpt<R>> {
    excerpts(
      LeftOutField(first, as: firstValue),
      LeftOutField(second, as: secondValue),
      LeftOutField(third, as: thirdValue))
  }

  /// The records without four of their fields. See ``leavingOut(_:as:)``.
  public func leavingOut<First: Sendable, Second: Sendable, Third: Sendable, Fourth: Sendable>(
    _ first: any WritableKeyPath<R, First> & Sendable,
    _ second: any WritableKeyPath<R, Second> & Sendable,
    _ third: any WritableKeyPath<R, Third> & Sendable,
    _ fourth: any WritableKeyPath<R, Fourth> & Sendable,
    as firstValue: First, _ secondValue: Second, _ thirdValue: Third, _ fourthValue: Fourth
  ) -> Selection<R, Excerpt<R>> {
    excerpts(
      LeftOutField(first, as: firstValue),
      LeftOutField(second, as: secondValue),
      LeftOutField(third, as: thirdValue),
      LeftOutField(fourth, as: fourthValue))
  }
}

extension Record {
  /// All records of the type without one of their fields. See ``Query/leavingOut(_:as:)``.
  public static func leavingOut<Value: Sendable>(
    _ field: any WritableKeyPath<Self, Value> & Sendable,
    as value: Value
  ) -> Selection<Self, Excerpt<Self>> {
    Query().leavingOut(field, as: value)
  }

  /// All records of the type without two of their fields. See ``Query/leavingOut(_:as:)``.
  public static func leavingOut<First: Sendable, Second: Sendable>(
    _ first: any WritableKeyPath<Self, First> & Sendable,
    _ second: any WritableKeyPath<Self, Second> & Sendable,
    as firstValue: First, _ secondValue: Second
  ) -> Selection<Self, Excerpt<Self>> {
    Query().leavingOut(
      first, second, as: firstValue, secondValue)
  }

  /// All records of the type without three of their fields. See ``Query/leavingOut(_:as:)``.
  public static func leavingOut<First: Sendable, Second: Sendable, Third: Sendable>(
    _ first: any WritableKeyPath<Self, First> & Sendable,
    _ second: any WritableKeyPath<Self, Second> & Sendable,
    _ third: any WritableKeyPath<Self, Third> & Sendable,
    as firstValue: First, _ secondValue: Second, _ thirdValue: Third
  ) -> Selection<Self, Excerpt<Self>> {
    Query().leavingOut(
      first, second, third, as: firstValue, secondValue, thirdValue)
  }

  /// All records of the type without four of their fields. See ``Query/leavingOut(_:as:)``.
  public static func leavingOut<
    First: Sendable, Second: Sendable, Third: Sendable, Fourth: Sendable
  >(
    _ first: any WritableKeyPath<Self, First> & Sendable,
    _ second: any WritableKeyPath<Self, Second> & Sendable,
    _ third: any WritableKeyPath<Self, Third> & Sendable,
    _ fourth: any WritableKeyPath<Self, Fourth> & Sendable,
    as firstValue: First, _ secondValue: Second, _ thirdValue: Third, _ fourthValue: Fourth
  ) -> Selection<Self, Excerpt<Self>> {
    Query().leavingOut(
      first, second, third, fourth, as: firstValue, secondValue, thirdValue, fourthValue)
  }
}
