console.log('never');

const broken = = 3;
