import { peers } from "../peers/streams.js";
import { measureRatios, type Size } from "../stream-ratios.ts";
import { own } from "../subjects.ts";

Object.assign(window, { run: (size: Size) => measureRatios({ ...own, ...peers }, size) });
