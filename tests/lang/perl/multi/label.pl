sub label { 'multi' }
1;
