import { testRecordings } from "./recorded-http.ts";

/* The recordings that `recorded-http.test.ts` leaves out. */

testRecordings((index) => index % 8 !== 0);
