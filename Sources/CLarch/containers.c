#include "clarch.h"

// Swift calls these as generic functions that return a keyed container, which is one reference, in
// memory. They are C because naming the result's type in Swift makes its metadata be looked up on
// each call. See ReturnedContainer.swift for what is relied on, and how it is tested.

extern void *swift_retain(void *object);

__attribute__((swiftcall)) void larch_return_decoding_container(
    __attribute__((swift_indirect_result)) void **result, void *box) {
  *result = swift_retain(box);
}

__attribute__((swiftcall)) void larch_return_encoding_container(
    __attribute__((swift_indirect_result)) void **result, void *box) {
  *result = swift_retain(box);
}
