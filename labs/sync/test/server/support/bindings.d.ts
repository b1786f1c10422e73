/** Bindings of the tests of this lab, beside those of the tests of `@sluice/durable`. */
interface TestBindings {
  readonly CONVERSATIONS: TestNamespace;
  readonly RUN_CONVERSATIONS: TestNamespace;
}
