import Foundation
import LarchTestSupport

@testable import Larch

extension Store {
  /// The faults that `verify()` finds.
  var faults: [String] {
    get throws {
      try verify().faults.map(\.description)
    }
  }

  var migrationNames: [String] {
    get throws {
      try CatalogLoader(environment, StoreSchema()).appliedMigrations().map(\.name)
    }
  }
}

/// The records of migration closures, for a test to check.
final class Notes: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func add(_ line: String) { lock.withLock { lines.append(line) } }
  var all: [String] { lock.withLock { lines } }
}
