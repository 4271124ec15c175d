#include "clarch.h"

// What `ReturnedContainer.swift` needs of C. Its self-test calls all of this before anything else
// does.

// Internal to the Swift runtime, so it may be missing in another one.
__attribute__((weak)) extern void *_swift_stdlib_immortalize(void *object);

int larch_make_immortal(void *object) {
  if (!_swift_stdlib_immortalize) return 0;
  _swift_stdlib_immortalize(object);
  return 1;
}

// Swift calls these as generic functions that return a keyed container, which is one reference, in
// memory. In Swift the type of the result would have to be looked up in each call. The reference is
// to an immortal object, so it is not counted.

__attribute__((swiftcall)) void larch_return_decoding_container(
    __attribute__((swift_indirect_result)) const void **result, const void *box) {
  *result = box;
}

__attribute__((swiftcall)) void larch_return_encoding_container(
    __attribute__((swift_indirect_result)) const void **result, const void *box) {
  *result = box;
}
