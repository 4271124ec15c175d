// Comparisons of a related record, or of an id, with a whole record. The error of Swift would not
// say what to do.

/// The actor of the `==` and `!=` that refuse a whole record. No code runs on it.
@globalActor
public actor `compare the id of a record, as in '$0.author.id == author.id'` {
  /// Required by Swift.
  public static let shared = `compare the id of a record, as in '$0.author.id == author.id'`()
}

extension RelatedRecord {
  /// Refused: a related record is compared by its id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func == <Other>(record: Self, other: Other?) -> Filter<Root> { .always }

  /// Refused: a related record is compared by its id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func == <Other>(other: Other?, record: Self) -> Filter<Root> { .always }

  /// Refused: a related record is compared by its id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func != <Other>(record: Self, other: Other?) -> Filter<Root> { .always }

  /// Refused: a related record is compared by its id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func != <Other>(other: Other?, record: Self) -> Filter<Root> { .always }
}

extension Field {
  /// Refused: an id is compared with an id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func == <Other: Record>(field: Self, record: Other?) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: an id is compared with an id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func == <Other: Record>(record: Other?, field: Self) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: an id is compared with an id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func != <Other: Record>(field: Self, record: Other?) -> Filter<Root> {
    field.notCompared
  }

  /// Refused: an id is compared with an id.
  @`compare the id of a record, as in '$0.author.id == author.id'`
  @_disfavoredOverload
  public static func != <Other: Record>(record: Other?, field: Self) -> Filter<Root> {
    field.notCompared
  }
}
