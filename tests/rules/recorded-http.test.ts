import { testRecordings } from "./recorded-http.ts";

testRecordings((index) => index % 8 === 0);
