import Foundation
import Testing

@testable import Larch

struct FileCheckTests {
  struct Case: CustomStringConvertible, Sendable {
    let description: String
    let code: LarchError.Code
    let damage: @Sendable (inout [UInt8]) -> Void
  }

  /// The offset of a field of a meta page: 16 bytes of header, then the meta itself.
  static func meta(_ slot: Int, _ field: Int) -> Int { slot * 4_096 + 16 + field }
  static func newest(_ bytes: [UInt8]) -> Int {
    bytes[number: meta(0, 128)] < bytes[number: meta(1, 128)] ? 1 : 0
  }

  static let headers: [Case] = [
    Case(description: "empty", code: .notAStore) { $0 = [] },
    Case(description: "text", code: .notAStore) { $0 = Array("Dear diary,\n".utf8) },
    Case(description: "long text", code: .notAStore) {
      $0 = Array(String(repeating: "Dear diary,\n", count: 2_000).utf8)
    },
    Case(description: "SQLite", code: .notAStore) {
      $0 = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 1, count: 20_000)
    },
    Case(description: "zeros", code: .notAStore) { $0 = .init(repeating: 0, count: 20_000) },
    Case(description: "other byte order", code: .notAStore) { bytes in
      for slot in 0...1 { bytes[meta(slot, 0)..<meta(slot, 4)].reverse() }
    },
    Case(description: "first header zero", code: .corrupted) { bytes in
      for offset in 0..<4_096 { bytes[offset] = 0 }
    },
    Case(description: "second header zero", code: .corrupted) { bytes in
      for offset in 4_096..<8_192 { bytes[offset] = 0 }
    },
    Case(description: "newer format", code: .newerFormat) { bytes in
      for slot in 0...1 { bytes[meta(slot, 4)] = 2 }
    },
    Case(description: "newer format in one header", code: .newerFormat) { $0[meta(1, 4)] = 2 },
    Case(description: "format 0", code: .corrupted) { $0[meta(0, 4)] = 0 },
    Case(description: "one page", code: .truncated) { $0.removeLast($0.count - 4_096) },
    Case(description: "two pages", code: .truncated) { $0.removeLast($0.count - 8_192) },
    Case(description: "last page missing", code: .truncated) { $0.removeLast(1) },
    Case(description: "last page far away", code: .truncated) { bytes in
      bytes[number: meta(newest(bytes), 120)] = 1 << 40
    },
    Case(description: "last page beyond all", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 120)] = .max
    },
    Case(description: "page size 3000", code: .corrupted) { bytes in
      bytes[short: meta(newest(bytes), 24)] = 3_000
    },
    Case(description: "different page sizes", code: .corrupted) { bytes in
      bytes[short: meta(1, 24)] = 8_192
    },
    Case(description: "map size 0", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 16)] = 0
    },
    Case(description: "map of all bits", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 16)] = .max
    },
    Case(description: "free list of duplicates", code: .corrupted) { bytes in
      bytes[short: meta(newest(bytes), 28)] |= 4
    },
    Case(description: "main tree in reverse", code: .corrupted) { bytes in
      bytes[short: meta(newest(bytes), 76)] |= 2
    },
    Case(description: "root is a header", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 112)] = 1
    },
    Case(description: "transaction of the other header", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 128)] += 1
    },
    Case(description: "transactions that do not follow", code: .corrupted) { bytes in
      bytes[number: meta(newest(bytes), 128)] += 4
    },
    Case(description: "no header flag", code: .corrupted) { $0[10] = 2 },
  ]

  @Test(arguments: headers)
  func aHeaderThatCannotBeUsedIsRefused(_ one: Case) throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      try FileCheck.checkHeader(path: path)
      var bytes = try SampleFile.bytes(path)
      one.damage(&bytes)
      try SampleFile.write(bytes, path)
      for check in [FileCheck.checkHeader, { _ = try FileCheck.verify(path: $0) }] {
        let error = #expect(throws: LarchError.self) { try check(path) }
        #expect(error?.code == one.code)
        #expect(error?.context.path == path)
      }
    }
  }

  @Test func whatIsNoRegularFileIsRefusedWithoutWaiting() throws {
    try ChildProgram.withDirectory { directory in
      mkfifo(directory + "/pipe", 0o600)
      for (path, code) in [
        (directory, LarchError.Code.unsuitableFile), (directory + "/pipe", .unsuitableFile),
        (directory + "/none", .fileNotFound), (directory + "/none/none", .fileNotFound),
        ("", .unsuitableFile), (directory + "/a\0b", .unsuitableFile),
      ] {
        let error = #expect(throws: LarchError.self) { try FileCheck.checkHeader(path: path) }
        #expect(error?.code == code, "\(path)")
      }
    }
  }

  /// The offset of the first page with these flags that the newest state uses, by a trial.
  private func damaged(
    _ whole: [UInt8], flags: UInt16, _ change: (inout [UInt8], Int) -> Void
  ) -> [[UInt8]] {
    (2..<(whole.count / 4_096)).compactMap { page in
      guard whole[short: page * 4_096 + 10] == flags else { return nil }
      var bytes = whole
      change(&bytes, page * 4_096)
      return bytes == whole ? nil : bytes
    }
  }

  @Test(arguments: [
    "page number", "order of keys", "order of children", "overflow count up", "overflow count down",
    "fixed values swapped", "dirty flag", "free space", "child twice", "duplicates' flags",
  ])
  func eachRuleOfThePagesIsChecked(_ rule: String) throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      let whole = try SampleFile.bytes(path)
      let report = try FileCheck.verify(path: path)
      #expect(report.databases == 2)
      #expect(report.entries == 2 * UInt64(SampleFile.count + 5) + 2)
      #expect(report.lostPages == 0)
      let files: [[UInt8]]
      switch rule {
      case "page number": files = damaged(whole, flags: 0x02) { $0[$1] ^= 1 }
      case "order of keys":
        files = damaged(whole, flags: 0x02) { bytes, page in
          guard bytes[short: page + 12] >= 20 else { return }
          let first = bytes[short: page + 16]
          bytes[short: page + 16] = bytes[short: page + 18]
          bytes[short: page + 18] = first
        }
      case "order of children":
        files = damaged(whole, flags: 0x01) { bytes, page in
          let first = bytes[short: page + 16]
          bytes[short: page + 16] = bytes[short: page + 18]
          bytes[short: page + 18] = first
        }
      case "overflow count up": files = damaged(whole, flags: 0x04) { $0[$1 + 12] += 1 }
      case "overflow count down": files = damaged(whole, flags: 0x04) { $0[$1 + 12] -= 1 }
      case "fixed values swapped":
        files = damaged(whole, flags: 0x22) { bytes, page in
          let first = bytes[number: page + 16]
          bytes[number: page + 16] = bytes[number: page + 24]
          bytes[number: page + 24] = first
        }
      case "dirty flag": files = damaged(whole, flags: 0x02) { $0[$1 + 10] |= 0x10 }
      case "free space": files = damaged(whole, flags: 0x02) { $0[short: $1 + 14] -= 2 }
      case "child twice":
        files = damaged(whole, flags: 0x01) { bytes, page in
          let first = page + Int(bytes[short: page + 16])
          let second = page + Int(bytes[short: page + 18])
          bytes[short: second] = bytes[short: first]
        }
      default:
        files = damaged(whole, flags: 0x02) { bytes, page in
          guard bytes[short: page + 12] == 20 else { return }
          bytes[page + Int(bytes[short: page + 16]) + 4] ^= 4
        }
      }
      var refused = 0
      for bytes in files {
        try SampleFile.write(bytes, path)
        do {
          _ = try FileCheck.verify(path: path)
        } catch let error as LarchError {
          #expect(error.code == .corrupted)
          #expect(error.context.page != nil)
          refused += 1
        }
      }
      // Pages that the newest state has freed may be in any condition.
      #expect(refused >= 1)
    }
  }

  @Test func countersThatDoNotFitAreRefused() throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      let whole = try SampleFile.bytes(path)
      let slot = Self.newest(whole)
      for field in [32, 40, 48, 56, 80, 88, 96, 104] {
        var bytes = whole
        bytes[number: Self.meta(slot, field)] += 1
        try SampleFile.write(bytes, path)
        let error = #expect(throws: LarchError.self) { try FileCheck.verify(path: path) }
        #expect(error?.code == .corrupted)
      }
      // The other state is not used, so its counters are not looked at.
      var bytes = whole
      bytes[number: Self.meta(1 - slot, 80)] += 1
      try SampleFile.write(bytes, path)
      _ = try FileCheck.verify(path: path)
    }
  }
}
