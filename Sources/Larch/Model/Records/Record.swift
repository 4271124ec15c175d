/// A value that a store can keep: any `Codable` type with an `id`.
///
/// Write a plain struct that conforms to it. Indexes, unique fields and defaults are optional;
/// declare them in `schema`, one line each.
///
/// ```swift
/// struct Person: Record {
///   var id = RecordID<Person>()
///   var name: String
///   var email: String?
///
///   static let schema = Schema<Person> {
///     Unique(\.email)
///   }
/// }
/// ```
///
/// ## Topics
/// - ``RecordID``
/// - ``Schema``
public protocol Record: Codable, Sendable, Identifiable, KeyNaming
where ID: RecordIdentifier {
  /// The identity of the record: the key under which it is stored.
  var id: ID { get set }

  /// The indexes and defaults of the type; empty by default.
  static var schema: Schema<Self> { get }

  /// The name under which the store keeps the records; by default the name of the type.
  ///
  /// Declare it to rename a type and keep its data. It has 1 to 64 of the characters `A-Z a-z 0-9 _
  /// . -`.
  static var collectionName: String { get }
}

extension Record {
  /// No indexes and no defaults.
  public static var schema: Schema<Self> { Schema() }

  /// The name of the type.
  public static var collectionName: String { String(describing: Self.self) }
}
