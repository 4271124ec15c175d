/// A line of an ``ImportMap``: an object, or a list of objects, that are records of another type.
///
/// ```swift
/// Linked(Person.company, from: "employer", by: \.name)          // {"name": "Acme", …}, or "Acme"
/// Linked(Person.projects, from: "projects", by: \.code, map: projectMap)
/// Linked(Order.lines, from: "lines")                            // by their ids
/// ```
///
/// Each object is saved as a record, and linked to the record of the element, whatever owner it
/// names itself. It is merged into the record with the same value of the unique field: fields that
/// the object does not have stay. If there is no such record, it is inserted. A plain value instead
/// of an object is the value of the unique field. A single object is a list of one.
///
/// Every kind of association can be linked: ``BelongsTo``, ``HasOne``, ``HasMany`` (also a list of
/// ids, and through a join record) and ``ManyToMany``. The objects of an element are added to the
/// related records; with `replacing` they become all of them. Null and an absent key add nothing.
/// For a ``BelongsTo``, null sets the property to nil. A ``HasOne`` replaces the other record.
///
/// An object may contain the element that it is in, by the unique field: this is a reference to the
/// record of this element, and further fields are merged into it when it was saved.
public struct Linked<R: Record>: ImportMapEntry, ImportMapLine {
  let element: ImportMapElement<R>

  /// Declares the keys of related records, which are matched by a unique field.
  ///
  /// - Parameters:
  ///   - association: an association that the schema of one of the two types lists.
  ///   - keys: one or more keys, or paths to them, as for ``Mapped``.
  ///   - field: a stored property of the other type with its own `Unique`.
  ///   - replacing: whether other related records are unlinked.
  ///   - map: how the objects become records. A map may contain itself, as it is asked for only when
  ///     an import begins.
  /// - Complexity: for each object that of ``RecordWriting/save(_:)``, a search by the field, and
  ///   the decoding of the stored record. With ``ImportErrorPolicy/skip``, a savepoint for each
  ///   element.
  public init<A: Association, Value: IndexKey & Decodable>(
    _ association: A, from keys: String...,
    by field: any KeyPath<A.Target, Value> & Sendable, replacing: Bool = false,
    map: @autoclosure @escaping @Sendable () -> ImportMap<A.Target>? = nil
  ) where A.Owner == R {
    element = .link(
      LinkedLine(keys) { session, tx in
        try TypedLink(association, keys, .by(field), replacing, map(), session, tx)
      })
  }

  /// Declares the keys of related records, which are matched by their ids.
  ///
  /// An object without an id is a new record. A plain value is an id.
  ///
  /// - Parameters:
  ///   - association: an association that the schema of one of the two types lists.
  ///   - keys: one or more keys, or paths to them, as for ``Mapped``.
  ///   - replacing: whether other related records are unlinked.
  ///   - map: how the objects become records.
  /// - Complexity: that of ``init(_:from:by:replacing:map:)``.
  public init<A: Association>(
    _ association: A, from keys: String..., replacing: Bool = false,
    map: @autoclosure @escaping @Sendable () -> ImportMap<A.Target>? = nil
  ) where A.Owner == R {
    element = .link(
      LinkedLine(keys) { session, tx in
        try TypedLink(association, keys, .byID, replacing, map(), session, tx)
      })
  }
}

/// A line of related records, before it is checked.
struct LinkedLine<R: Record>: Sendable {
  let keys: [String]
  let plan: @Sendable (MapSession, ReadTransaction) throws -> MapLink<R>

  init(
    _ keys: [String], _ plan: @escaping @Sendable (MapSession, ReadTransaction) throws -> MapLink<R>
  ) {
    self.keys = keys
    self.plan = plan
  }
}
