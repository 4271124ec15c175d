internal import Larch

/// `larch backup`: copies a store to a new file.
struct BackupCommand: Command {
  static let name = "backup"
  static let onlyShows = false
  static let summary = "copies a store to a new file, while others read and write it"
  static let discussion = """
    The copy has no free space, and it is on the disk when the command ends. It appears under its
    name once it is complete. The store itself does not change.
    """
  private static let target = Operand("DEST", "the file to create", completion: .file)
  private static let replace = Flag("--replace", "replace a file that exists")
  static let operands = [Operand.store, target]
  static let options: [any OptionDeclaration] = [replace, Flag.json]
  static let examples = [
    Example("larch backup people.larch /backup/people-monday.larch", "Make a backup"),
    Example("larch backup people.larch /backup/people.larch --replace", "Replace it every night"),
  ]

  private let path: String
  private let target: String
  private let isReplacing: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    target = arguments[Self.target]
    isReplacing = arguments[Self.replace]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    var bytes = 0
    do {
      let progress = Progress("copying", on: console)
      defer { progress.end() }
      try TargetFile.explaining(target, isReplacing) {
        try store.backup(to: target, replacing: isReplacing) { step in
          bytes = step.bytesDone
          progress.update(step.fraction, " of \(Amount.bytes(step.bytesExpected))")
        }
      }
    }
    if isJSON {
      try console.print(json: ["path": .string(target), "bytes": .int(bytes)])
    } else {
      try console.print("\(target, .strong): \(Amount.bytes(bytes))")
    }
    return .well
  }
}
