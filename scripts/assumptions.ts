import { writeFileSync } from "node:fs";
import { fillWirePage, wirePage } from "../tests/rules/assumptions-table.ts";

/* Writes the table of assumptions into the page of the wire. */

writeFileSync(wirePage, fillWirePage());
