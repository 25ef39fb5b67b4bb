export default 'multi';
