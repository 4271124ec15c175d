import Larch

struct OptionalVersion: Record {
  var id = RecordID<OptionalVersion>()
  var version: Int?

  static let schema = Schema<OptionalVersion> {
    Versioned(\.version)  // error: a version is a property
  }
}

struct TextVersion: Record {
  var id = RecordID<TextVersion>()
  var version = ""

  static let schema = Schema<TextVersion> {
    Versioned(\.version)  // error: a version is a property
  }
}

struct ConstantVersion: Record {
  var id = RecordID<ConstantVersion>()
  let version: Int

  static let schema = Schema<ConstantVersion> {
    Versioned(\.version)  // error: a version is a property
  }
}

struct MisspeltVersion: Record {
  var id = RecordID<MisspeltVersion>()
  var version = 0

  static let schema = Schema<MisspeltVersion> {
    Versioned(\.versoin)  // error: has no member 'versoin'
  }
}
