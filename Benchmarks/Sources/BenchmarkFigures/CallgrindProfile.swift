import Foundation

/// Reads what callgrind wrote: a file for each counted region.
public enum CallgrindProfile {
  /// The instructions of the text of one file.
  ///
  /// - Throws: ``FigureError`` where the text has no total, counts something else, or nothing.
  public static func total(of text: String) throws -> Int {
    var events: [Substring] = []
    for line in text.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("events:") { events = line.dropFirst(7).split(separator: " ") }
      guard line.hasPrefix("summary:") || line.hasPrefix("totals:") else { continue }
      let values = line.drop { $0 != ":" }.dropFirst().split(separator: " ")
      guard let column = events.firstIndex(of: "Ir"), values.indices.contains(column),
        let total = Int(values[column])
      else { throw FigureError("the profile does not count instructions: \(line)") }
      guard total > 0 else { throw FigureError("the profile counted nothing") }
      return total
    }
    throw FigureError("the profile has no total")
  }

  /// The total of each numbered part of a run, `path.1` and up.
  ///
  /// - Throws: ``FigureError`` when there are not just as many as regions, or one has no total.
  public static func totals(of path: String, regions: Int) throws -> [Int] {
    let totals = try (1...max(1, regions)).map { number in
      let part = "\(path).\(number)"
      guard let data = FileManager.default.contents(atPath: part) else {
        throw FigureError("callgrind wrote no \(part): it did not see a region")
      }
      do {
        return try total(of: String(decoding: data, as: UTF8.self))
      } catch let error as FigureError {
        throw FigureError("\(part): \(error)")
      }
    }
    // What is written when the program ends has no number.
    guard !FileManager.default.fileExists(atPath: "\(path).\(regions + 1)") else {
      throw FigureError("callgrind saw more regions than the \(regions) that were run")
    }
    return totals
  }
}
