// The simulated model that routing sends `auto` to where no provider was ever configured or found. Its answers say so in their first
// line. No client can ask for it by name, so routing and the simulated provider agree on the name here.
export const STAND_IN = 'stand-in';
