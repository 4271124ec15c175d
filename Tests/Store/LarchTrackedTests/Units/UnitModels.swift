import Foundation
import LarchTestSupport

@testable import Larch

/// The records of the tests of units of work.
enum Units {
  /// With a tree, a unique field and a rule.
  struct Entry: Record, Equatable {
    var id = RecordID<Entry>()
    var name: String
    var code: Int?
    var notes: [String] = []
    var parentID: Entry.ID?

    static let children = HasMany<Entry, Entry>(\.parentID, onDelete: .nullify)
    static let schema = Schema<Entry> {
      children
      Unique(\.code)
      Index(\.name)
      Validate(\.name, .presence)
    }
  }

  struct Folder: Record, Equatable {
    var id = RecordID<Folder>()
    var name: String
    var count = 0

    static let files = HasMany<Folder, File>(\.folderID, onDelete: .destroy)
    static let schema = Schema<Folder> { files }
  }

  /// Counted by a hook in its folder, with times and a version.
  struct File: Record, Timestamped, Equatable {
    var id = RecordID<File>()
    var name: String
    var size = 0
    var folderID: Folder.ID
    var version = 0
    var createdAt: Date?
    var updatedAt: Date?

    struct Refused: Error {}

    static let schema = Schema<File> {
      Versioned(\.version)
      WillSave { file, _ in
        if file.name == "refused" { throw Refused() }
        file.name = file.name.trimmingCharacters(in: .whitespaces)
      }
      DidInsert { file, tx in
        guard var folder = try tx.find(Folder.self, file.folderID) else { return }
        folder.count += 1
        try tx.save(&folder)
      }
    }
  }

  /// Its program chooses its id; it is a class.
  final class Sheet: Record {
    var id: String
    var text: String
    init(id: String, text: String) {
      self.id = id
      self.text = text
    }
  }

  static func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    change(&options)
    return try Store.temporary(
      for: Entry.self, Folder.self, File.self, Sheet.self, options: options)
  }
}

// Only tests change one, on one thread.
extension Units.Sheet: @unchecked Sendable {}

/// The code of the error that a closure throws; nil if it throws none, or another one.
func code(_ body: () throws -> Void) -> LarchError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LarchError)?.code
  }
}
