import Foundation

/// Something that makes figures worthless, or that keeps them from being shown.
public struct FigureError: Error, CustomStringConvertible, Equatable {
  /// What is wrong.
  public var description: String

  /// An error with its text.
  public init(_ description: String) {
    self.description = description
  }
}

extension String {
  /// Filled with spaces on the right.
  public func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// Filled with spaces on the left.
  public func aligned(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}

/// A number with so many digits after the point.
public func decimal(_ value: Double, _ digits: Int) -> String {
  String(format: "%.\(digits)f", value)
}

/// A size or a time in the unit that suits it; `unit` is "bytes" for sizes.
public func measured(_ value: Double, _ unit: String) -> String {
  if unit == "bytes" { return decimal(value / 1e6, 2) + " MB" }
  if value >= 1e9 { return decimal(value / 1e9, 2) + " s" }
  if value >= 1e6 { return decimal(value / 1e6, 2) + " ms" }
  if value >= 1e4 { return decimal(value / 1e3, 1) + " us" }
  return decimal(value, 1) + " ns"
}

func signedPercent(_ part: Double) -> String {
  let hundredths = (part * 10_000).rounded() / 100
  return hundredths == 0 ? "0.00 %" : (hundredths < 0 ? "" : "+") + decimal(hundredths, 2) + " %"
}
