import { expect, test } from "vitest";
import { clientsTable, readGuide } from "./table.ts";

test("The table of the guide counts what the tests hold each client to", () => {
  expect(readGuide().found, "node tests/clients/table.ts --write").toBe(clientsTable());
});
