import Foundation
import LarchTestSupport

@testable import Larch

/// A person, as most tests import it.
struct Guest: Record, Equatable {
  var id = RecordID<Guest>()
  var name: String
  var email: String?
  var age: Int
  var role: String
  var nickname: String?

  static let schema = Schema<Guest> {
    Unique(\.email)
    Index(\.age)
    Default(\.role, "guest")
  }

  init(
    id: RecordID<Guest> = RecordID(), name: String, email: String? = nil, age: Int = 0,
    role: String = "guest", nickname: String? = nil
  ) {
    self.id = id
    self.name = name
    self.email = email
    self.age = age
    self.role = role
    self.nickname = nickname
  }
}

/// A node of a tree, which refers to others of its type.
struct Branch: Record, Equatable {
  var id: Int
  var parentID: Int?
  var treeID: RecordID<Tree>?

  static let parent = BelongsTo<Branch, Branch>(\.parentID)
  static let tree = BelongsTo<Branch, Tree>(\.treeID)
  static let schema = Schema<Branch> {
    parent
    tree
  }
}

struct Tree: Record, Equatable {
  var id = RecordID<Tree>()
}

/// Bytes that arrive a few at a time, so that a piece ends once at every position of a text.
struct Trickle: ByteSource {
  let bytes: [UInt8]
  let step: Int
  var count: Int { bytes.count }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let size = min(step, buffer.count, bytes.count - offset)
    guard offset >= 0, size > 0 else { return 0 }
    bytes.withUnsafeBytes { all in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[offset..<(offset + size)]))
    }
    return size
  }
}

extension JSONSource {
  static func trickle(_ text: String, step: Int) -> JSONSource {
    let bytes = Array(text.utf8)
    return JSONSource { Trickle(bytes: bytes, step: step) }
  }
}

extension Store {
  func insertAll<R: Record>(_ records: [R]) throws {
    try write { tx throws in
      for record in records {
        var record = record
        try tx.insert(&record)
      }
    }
  }
}
