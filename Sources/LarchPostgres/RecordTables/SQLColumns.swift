internal import LarchInspection

/// Names for tables and columns: in lower case, short enough for PostgreSQL, and each used once.
struct SQLNames {
  /// What the name of a table has after that of its view.
  static let suffix = "_records"
  /// PostgreSQL cuts names of more than 63 bytes; a suffix and a number must fit too.
  private static let limit = 63 - 8 - 6

  private var used: Set<String>

  init(reserved: Set<String> = []) { used = reserved }

  /// The name for something, which nothing else has.
  mutating func name(for text: String) -> String {
    var name = ""
    for character in text.lowercased().withoutZero {
      guard name.utf8.count + character.utf8.count <= Self.limit else { break }
      name.append(character)
    }
    if name.isEmpty { name = "unnamed" }
    // A view must not have the name of another one's table, nor of ours.
    if name.hasPrefix("larch_") || name.hasSuffix(Self.suffix) { name += "_" }
    var free = name
    var number = 2
    while !used.insert(free).inserted {
      free = "\(name)_\(number)"
      number += 1
    }
    return free
  }
}

/// The columns of a view: the id, the fields, and the whole record.
struct SQLColumns {
  private let columns: [CollectionTable.Column]

  init(_ columns: [CollectionTable.Column]) { self.columns = columns }

  /// PostgreSQL's limit is 1,600; what is beyond is in the record.
  private static let limit = 1500

  /// `id, … AS name, …, record`
  var list: String {
    var names = SQLNames(reserved: ["id", "record"])
    let fields = columns.prefix(Self.limit).map { column in
      let name = names.name(for: column.path.joined(separator: "_"))
      return Self.expression(column) + " AS " + name.quoted("\"")
    }
    return (["id"] + fields + ["record"]).joined(separator: ", ")
  }

  /// The value of a field. A record of an older type may have anything there, and one value must not make
  /// the whole view fail: it is null then, and the record has it.
  static func expression(_ column: CollectionTable.Column) -> String {
    let value = "record #> \(path(column.path))"
    let text = "record #>> \(path(column.path))"
    let type = "jsonb_typeof(\(value))"
    // Numbers that JSON does not have, and dates beyond ISO 8601, are objects with one member.
    func member(_ name: String) -> String { "record #>> \(path(column.path + [name]))" }
    switch column.kind {
    case .boolean: return "CASE \(type) WHEN 'boolean' THEN (\(text))::boolean END"
    case .integer:
      return
        "CASE WHEN \(type) = 'number' THEN CASE WHEN (\(text))::numeric BETWEEN -9223372036854775808 AND 9223372036854775807 AND (\(text))::numeric = trunc((\(text))::numeric) THEN (\(text))::numeric::bigint END END"
    case .number: return "CASE \(type) WHEN 'number' THEN (\(text))::numeric END"
    case .double:
      return
        "CASE \(type) WHEN 'number' THEN CASE WHEN abs((\(text))::numeric) <= 1.7976931348623157e308 AND (\(text))::numeric NOT BETWEEN -1e-300 AND 1e-300 THEN (\(text))::double precision ELSE \(small(text)) END WHEN 'object' THEN CASE \(member("$double")) WHEN 'nan' THEN 'NaN'::double precision WHEN 'inf' THEN 'Infinity' WHEN '-inf' THEN '-Infinity' END END"
    case .text: return text
    case .time: return time(column)
    case .uuid:
      return
        "CASE WHEN \(type) = 'string' AND \(text) ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' THEN (\(text))::uuid END"
    case .json: return value
    }
  }

  /// A date, as ISO 8601 text, or beyond that as an object with the seconds since 2001.
  private static func time(_ column: CollectionTable.Column) -> String {
    let value = "record #>> \(path(column.path))"
    let text = "(\(value))"
    let seconds = path(column.path + ["$date"])
    let form =
      "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\\.[0-9]+)?Z$"
    // PostgreSQL refuses a day that the month does not have, and the year 0.
    let lastDay =
      "extract(day FROM make_date(substr(\(value), 1, 4)::int, substr(\(value), 6, 2)::int, 1) + interval '1 month - 1 day')"
    let date =
      "CASE WHEN \(text) ~ '\(form)' AND \(text) !~ '^0000' THEN CASE WHEN substr(\(value), 9, 2)::int <= \(lastDay) THEN \(text)::timestamptz END END"
    let number = "(record #>> \(seconds))"
    let beyond =
      "CASE WHEN jsonb_typeof(record #> \(seconds)) = 'number' THEN CASE WHEN abs(\(number)::numeric) < 1e11 THEN to_timestamp(\(number)::double precision + 978307200) END WHEN \(number) = 'inf' THEN 'infinity'::timestamptz WHEN \(number) = '-inf' THEN '-infinity'::timestamptz END"
    return
      "CASE jsonb_typeof(record #> \(path(column.path))) WHEN 'string' THEN \(date) WHEN 'object' THEN \(beyond) END"
  }

  /// A number near zero: PostgreSQL refuses one that is smaller than any of the type.
  private static func small(_ text: String) -> String {
    "CASE WHEN (\(text))::numeric = 0 THEN 0 WHEN abs((\(text))::numeric) >= 4.94e-324 AND abs((\(text))::numeric) <= 1e-300 THEN (\(text))::double precision END"
  }

  /// A path as an array of texts.
  private static func path(_ names: [String]) -> String {
    let parts = names.map { $0.withoutZero.quoted("'") }
    return "ARRAY[" + parts.joined(separator: ", ") + "]::text[]"
  }
}
