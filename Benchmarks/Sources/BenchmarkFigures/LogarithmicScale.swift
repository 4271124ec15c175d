import Foundation

/// Puts positive numbers on a line, so that equal ratios have equal lengths.
public struct LogarithmicScale: Equatable, Sendable {
  /// The numbers at both ends.
  public let domain: ClosedRange<Double>
  /// Where the ends are drawn; the first may be the larger one, for an axis that goes up.
  public let ends: (Double, Double)

  /// A scale whose ends are the powers of ten around the values.
  ///
  /// Values that no logarithm has are left out; a scale of nothing goes from 1 to 10.
  public init(around values: [Double], ends: (Double, Double)) {
    let logarithms = values.filter { $0 > 0 && $0.isFinite }.map { log10($0) }
    let low = (logarithms.min() ?? 0).rounded(.down)
    let high = (logarithms.max() ?? 1).rounded(.up)
    self.init(domain: pow(10, low)...pow(10, max(high, low + 1)), ends: ends)
  }

  /// A scale between two positive numbers.
  public init(domain: ClosedRange<Double>, ends: (Double, Double)) {
    self.domain = domain
    self.ends = ends
  }

  /// Where a number is drawn; one beyond an end is drawn at the end.
  public func position(_ value: Double) -> Double {
    guard value > 0 else { return ends.0 }
    let (low, high) = (log10(domain.lowerBound), log10(domain.upperBound))
    let part = min(1, max(0, (log10(value) - low) / (high - low)))
    return ends.0 + part * (ends.1 - ends.0)
  }

  /// Numbers to write at the axis: powers of ten, and 2 and 5 times those where there is room.
  public var ticks: [Double] {
    let (low, high) = (log10(domain.lowerBound).rounded(), log10(domain.upperBound).rounded())
    let factors: [Double] = high - low <= 3 ? [1, 2, 5] : [1]
    return stride(from: low, through: high, by: 1).flatMap { power in
      factors.map { pow(10, power) * $0 }
    }.filter { $0 <= domain.upperBound * 1.0001 }
  }

  /// Whether two scales put all numbers at the same places.
  public static func == (left: LogarithmicScale, right: LogarithmicScale) -> Bool {
    left.domain == right.domain && left.ends == right.ends
  }
}
