/// Declares a property that counts the saves of a record, so that nobody overwrites what they have
/// not seen.
///
/// ```swift
/// struct Page: Record {
///   var id = RecordID<Page>()
///   var text: String
///   var version = 0
///
///   static let schema = Schema<Page> { Versioned(\.version) }
/// }
/// ```
///
/// Each update compares the version of the record with the stored one. Where they differ somebody
/// else saved the record meanwhile, and the update throws `.conflict` and changes nothing: fetch the
/// record again and make the change once more. An insert sets the first version, and each save that
/// changes something sets a higher one; the program only reads it. A save that changes nothing
/// leaves the version as it is.
///
/// A version is 1 after the first save, and rises by one with most saves. A number that was given in
/// a transaction which was undone is left out. After the highest number of its type it begins at 1
/// again. A record that was deleted and is saved again goes on counting from the version that it has.
///
/// Updates by a query, through associations and in migrations count as any other. An import does not
/// compare: it replaces what it matches, and sets a higher version. Deleting compares nothing. For
/// records that are stored already, declare `Default(\.version, 0)` beside it.
public struct Versioned<R: Record>: Sendable {
  let declaration: VersionDeclaration<R>

  /// Declares the property. It must be stored, and be no optional.
  public init<Value: FixedWidthInteger & Codable & Sendable>(
    _ field: any WritableKeyPath<R, Value> & Sendable
  ) {
    declaration = VersionDeclaration(
      resolve: { FieldNaming.storedPath(of: field) },
      number: { Int128(truncatingIfNeeded: $0[keyPath: field]) },
      set: { $0[keyPath: field] = Value(truncatingIfNeeded: $1) },
      next: { number in
        let value = Value(truncatingIfNeeded: number)
        return value < 0 || value == .max ? 1 : Int128(truncatingIfNeeded: value + 1)
      })
  }

  /// Not available: a property that cannot count.
  @available(
    *, unavailable,
    message: "a version is a property of the record of an integer type, a `var` and no optional"
  )
  @_disfavoredOverload
  public init(_ field: PartialKeyPath<R>) {
    declaration = VersionDeclaration(
      resolve: { .computed(printableName: nil) }, number: { _ in 0 }, set: { _, _ in }, next: { $0 }
    )
  }
}

/// The version of a record, whatever its type of integer. Numbers are those of the type, with their
/// bits where these do not fit.
struct VersionDeclaration<R: Record>: Sendable {
  let resolve: @Sendable () -> FieldNaming.Resolution
  let number: @Sendable (R) -> Int128
  let set: @Sendable (inout R, Int128) -> Void
  /// The number after one.
  let next: @Sendable (Int128) -> Int128

  /// The number after one that none of these is.
  func next(after number: Int128, besides taken: [ClosedRange<Int128>]) -> Int128 {
    var result = next(number)
    // As often as there are numbers to avoid; a small type may have used up all of them.
    for _ in taken {
      guard let range = taken.first(where: { $0.contains(result) }) else { break }
      result = next(range.upperBound)
    }
    return result
  }
}
