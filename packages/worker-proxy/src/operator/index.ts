export { type AdminOptions, admin } from "./admin.js";
export { type ErasedUser, type ExportedUser, eraseUser, exportUser } from "./user-data.js";
