import Foundation
import Larch
import LarchTestSupport
import XCTest

@testable import People

final class PeopleXCTests: XCTestCase {
  private func makeStore() throws -> Store {
    let store = try Store.temporary(for: Person.self, Team.self)
    try store.found(
      "Engines", with: [Person(name: "Ada", born: Date(timeIntervalSinceReferenceDate: 0.5))])
    return store
  }

  /// A team is stored with its people; other indexes and associations would change nothing here.
  func testWhole() throws {
    try assertDump(
      of: makeStore(), .records,
      equals: """
        collection Person: 1 record
          Person#1 {"born":"2001-01-01T00:00:00.5Z","id":"Person#1","name":"Ada","teamID":"Team#1"}
        collection Team: 1 record
          Team#1 {"id":"Team#1","name":"Engines"}
        """)
  }

  /// What differs is shown by line.
  func testDifference() throws {
    let store = try makeStore()
    XCTAssertThrowsError(
      try store.requireDump(
        [.indexes, .associations],
        equals: """
          collection Person: 1 record
            index born: 2 entries
            index teamID: 1 entry
          collection Team: 1 record
          reference Person.teamID: Person to Team, optional, on delete none, nullify
          """)
    ) { error in
      XCTAssertEqual(
        (error as? DumpDifference)?.lines,
        """
          collection Person: 1 record
        -   index born: 2 entries
        +   index born: 1 entry
            index teamID: 1 entry
          collection Team: 1 record
          … 2 equal lines
        """)
    }
  }

  /// `requireDump` that lets the test go on: the failure is at the line of the call.
  private func assertDump(
    of store: Store, _ contents: Store.DumpContents = .all, equals expected: String,
    file: StaticString = #filePath, line: UInt = #line
  ) throws {
    do {
      try store.requireDump(
        contents, ids: .named, equals: expected, file: "\(file)", line: Int(line))
    } catch let error as DumpDifference {
      XCTFail("\(error)", file: file, line: line)
    }
  }
}
