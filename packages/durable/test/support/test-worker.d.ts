/** The Worker whose objects a project tests on Node: an alias in its configuration. */
declare module "test:worker";
