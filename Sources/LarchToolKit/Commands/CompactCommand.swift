internal import Larch

/// `larch compact`: gives free space back to the disk.
struct CompactCommand: Command {
  static let name = "compact"
  static let onlyShows = false
  static let summary = "writes: shrinks the file to the size of its data"
  static let discussion = """
    A store reuses its free space, so this is useful only for a store that was once much larger.
    Other programs may have the store open; they switch to the new file by themselves, and their
    writes wait meanwhile. The disk must have room for a second file.
    """
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [Example("larch compact people.larch", "Give space back to the disk")]

  private let path: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.openToWrite(path)
    defer { store.close() }
    let result: Store.Compaction
    do {
      let progress = Progress("compacting", on: console)
      defer { progress.end() }
      result = try store.compact { step in
        progress.update(step.fraction, " of \(Amount.bytes(step.bytesExpected))")
      }
    }
    if isJSON {
      try console.print(
        json: ["bytesBefore": .int(result.bytesBefore), "bytesAfter": .int(result.bytesAfter)])
    } else {
      try console.print(
        "\(path, .strong): \(Amount.bytes(result.bytesBefore)) before, \(Amount.bytes(result.bytesAfter)) after"
      )
    }
    return .well
  }
}
