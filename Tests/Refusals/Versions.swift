import Larch

struct OptionalVersion: Record {
  var id = RecordID<OptionalVersion>()
  var version: Int?

  static let schema = Schema<OptionalVersion> {
    Versioned(\.version)  // error: 'Optional<Int>' conform to 'FixedWidthInteger'
  }
}

struct TextVersion: Record {
  var id = RecordID<TextVersion>()
  var version = ""

  static let schema = Schema<TextVersion> {
    Versioned(\.version)  // error: 'String' conform to 'FixedWidthInteger'
  }
}

struct ConstantVersion: Record {
  var id = RecordID<ConstantVersion>()
  let version: Int

  static let schema = Schema<ConstantVersion> {
    Versioned(\.version)  // error: WritableKeyPath
  }
}
