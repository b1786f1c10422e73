import { testRecordings } from "./recorded-http.ts";

/* Every eighth recording is enough for the fast tests. `recorded-http.ci.test.ts` has the others. */

testRecordings((index) => index % 8 === 0);
