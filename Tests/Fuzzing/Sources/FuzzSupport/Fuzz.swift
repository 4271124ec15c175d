import Foundation

/// Whether the target must have a mistake, which the fuzzer must find: the control that shows that
/// it is guided. The same program is fuzzed without it.
public let hasPlantedBug = ProcessInfo.processInfo.environment["LARCH_PLANTED_BUG"] != nil

typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

@_silgen_name("LLVMFuzzerRunDriver")
func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ callback: Callback
) -> CInt

// libFuzzer takes a C function, which can capture nothing. It is set once, before the only
// thread that reads it starts to.
nonisolated(unsafe) private var body: (UnsafeRawBufferPointer) -> Void = { _ in }

/// Runs libFuzzer with the arguments of the process, and `test` on each input that it makes.
///
/// libFuzzer brings a `main` of its own, but SwiftPM gives the entry point of an executable a name
/// of its own too and the two never meet. So each target has a plain `main.swift` that ends in a
/// call of this function.
public func fuzz(_ test: @escaping (UnsafeRawBufferPointer) -> Void) -> CInt {
  body = test
  var count = CommandLine.argc
  var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
  return runFuzzer(&count, &arguments) { bytes, count in
    body(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}
