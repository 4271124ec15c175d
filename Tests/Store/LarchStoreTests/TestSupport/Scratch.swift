import Foundation
import LarchTestSupport

@testable import Larch

extension Store {
  /// The lines of the dump that show the entries of one index, without the indentation.
  func entries(_ index: String) throws -> [String] {
    var isInside = false
    var found: [String] = []
    for line in try dump().split(separator: "\n") {
      let text = line.drop { $0 == " " }
      let depth = line.count - text.count
      if depth == 2 { isInside = text.contains(" \(index): ") && !text.hasPrefix("{") }
      if depth == 4, isInside { found.append(String(text)) }
    }
    return found
  }
}
