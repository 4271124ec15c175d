/// A value that a store keeps: any `Codable` type with an `id`.
///
/// Write a plain struct and conform it. Nothing else is needed; indexes, unique fields and
/// defaults are declared in `schema`, one line each.
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
public protocol Record: Codable, Sendable, Identifiable where ID: RecordIdentifier {
  /// The identity of the record: the key that it is stored under.
  var id: ID { get set }

  /// The indexes and defaults of the type; empty unless declared.
  static var schema: Schema<Self> { get }

  /// The name that the store keeps the records under; the name of the type unless declared.
  ///
  /// Declare it to rename a type and keep its data. 1 to 64 of the characters
  /// `A-Z a-z 0-9 _ . -`.
  static var collectionName: String { get }
}

extension Record {
  /// No indexes and no defaults.
  public static var schema: Schema<Self> { Schema() }

  /// The name of the type.
  public static var collectionName: String { String(describing: Self.self) }
}
