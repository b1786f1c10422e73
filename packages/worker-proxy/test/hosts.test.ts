import { hostRows, isInTest } from "./support/host-rows.js";
import { testHosts } from "./support/host-suite.js";

testHosts(hostRows.filter(isInTest));
