/// A record as it is stored, but for some fields that were left out and have given values.
///
/// ```swift
/// let list = Person.where { $0.city == "Oslo" }.select(except: \.photo, as: Data())
/// for person in try store.fetch(list) { print(person.id, person.name) }
/// ```
///
/// Its properties are those of the record, and can only be read. It is no record, so it cannot be
/// saved: that would overwrite the fields that were left out. To change the record, find it by its
/// ``id``.
///
/// Created by ``Query/select(except:as:)``.
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

private func leaveOut<R: Record, Field>(
  _ field: any WritableKeyPath<R, Field> & Sendable, of record: inout R, as value: Field
) {
  record[keyPath: field] = value
}

extension Query {
  /// The records without some of their fields, such as large ones that a list does not show.
  ///
  /// ```swift
  /// let list = Person.all.sorted(by: \.name).select(except: \.photo, \.notes, as: Data(), "")
  /// ```
  ///
  /// Conditions and orders see the stored values, also of the fields that are left out. Each record
  /// is read and checked as a whole: this saves the memory of the values, not the reading. Where a few
  /// fields are enough, `select` of these is faster.
  ///
  /// - Parameters:
  ///   - fields: the properties that are left out.
  ///   - values: what each of them is in the results.
  public func select<each Value: Sendable>(
    except fields: repeat any WritableKeyPath<R, each Value> & Sendable,
    as values: repeat each Value
  ) -> Selection<R, Excerpt<R>> {
    var names: [String] = []
    repeat names.append(FieldNode.of(each fields).name)
    let described = SelectedFieldDescription(
      name: "all but " + names.joined(separator: ", "), type: Excerpt<R>.self, reference: nil,
      mayBeInvalid: true)
    let fields = (repeat each fields)
    let values = (repeat each values)
    return Selection(self, [described], nil) { row, target in
      // The rows of a selection are of its record type.
      var record = try row.record().assumingMemoryBound(to: R.self).pointee
      repeat leaveOut(each fields, of: &record, as: each values)
      target.initialize(to: Excerpt(record))
      row.note(target)
    }
  }
}

extension Record {
  /// All records of the type without some of their fields. See ``Query/select(except:as:)``.
  ///
  /// - Parameters:
  ///   - fields: the properties that are left out.
  ///   - values: what each of them is in the results.
  public static func select<each Value: Sendable>(
    except fields: repeat any WritableKeyPath<Self, each Value> & Sendable,
    as values: repeat each Value
  ) -> Selection<Self, Excerpt<Self>> {
    Query().select(except: repeat each fields, as: repeat each values)
  }
}
